-- queue_stats: unfinished messages by topic; of those in progress last, whose lease is over.
SELECT s.topic,
       SUM(s.status <> 1 AND NOT s.waits AND s.next_attempt_at <= n.now),
       SUM(s.status <> 1 AND NOT s.waits AND s.next_attempt_at > n.now),
       SUM(s.status = 1),
       SUM(s.status <> 1 AND s.waits),
       COALESCE(MAX(CASE WHEN s.status <> 1 AND NOT s.waits AND s.next_attempt_at <= n.now THEN n.now - s.next_attempt_at END), 0),
       SUM(s.status = 1 AND COALESCE(s.locked_until <= n.now, FALSE))
FROM (SELECT w.topic, w.status, w.next_attempt_at, w.locked_until, FALSE AS waits
      FROM {queue_work} AS w WHERE w.ordering_key IS NULL
      UNION ALL
      SELECT w.topic, w.status, w.next_attempt_at, w.locked_until,
             w.seq > MIN(w.seq) OVER (PARTITION BY w.ordering_key) OR MAX(w.status = 1) OVER (PARTITION BY w.ordering_key)
      FROM {queue_work} AS w WHERE w.ordering_key IS NOT NULL) AS s
CROSS JOIN (SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) AS now) AS n
GROUP BY s.topic
ORDER BY s.topic
