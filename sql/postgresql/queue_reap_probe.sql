-- queue_reap_probe: whether a lease or a waiting message has expired.
SELECT CASE WHEN EXISTS (
                     SELECT 1 FROM {queue_work} AS w
                     WHERE w.status = 1 AND w.locked_until >= CAST(:since AS bigint) AND w.locked_until <= n.now)
              OR EXISTS (
                     SELECT 1 FROM {queue_work} AS w
                     WHERE w.expires_at >= CAST(:since AS bigint) AND w.expires_at <= n.now AND w.status <> 1)
            THEN 1 ELSE 0 END
FROM (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now) AS n
