-- queue_reap_probe: whether a lease or a waiting message has expired.
SELECT CASE WHEN EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.status = 1 AND w.locked_until >= :since AND w.locked_until <= n.now)
              OR EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.expires_at >= :since AND w.expires_at <= n.now AND w.status <> 1)
            THEN 1 ELSE 0 END
FROM (SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) AS now) AS n
