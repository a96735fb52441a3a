-- queue_stats: unfinished messages by topic; of those in progress last, whose lease is over.
SELECT s.topic,
       count(*) FILTER (WHERE s.status = 0 AND NOT s.waits AND s.next_attempt_at <= n.now),
       count(*) FILTER (WHERE s.status = 0 AND NOT s.waits AND s.next_attempt_at > n.now),
       count(*) FILTER (WHERE s.status = 1),
       count(*) FILTER (WHERE s.status = 0 AND s.waits),
       coalesce(max(n.now - s.next_attempt_at) FILTER (WHERE s.status = 0 AND NOT s.waits AND s.next_attempt_at <= n.now), 0),
       count(*) FILTER (WHERE s.status = 1 AND s.locked_until <= n.now)
FROM (SELECT w.topic, w.status, w.next_attempt_at, w.locked_until, false AS waits
      FROM {queue_work} AS w WHERE w.ordering_key IS NULL
      UNION ALL
      SELECT w.topic, w.status, w.next_attempt_at, w.locked_until,
             w.seq > min(w.seq) OVER (PARTITION BY w.ordering_key) OR max(w.status) OVER (PARTITION BY w.ordering_key) = 1
      FROM {queue_work} AS w WHERE w.ordering_key IS NOT NULL) AS s
CROSS JOIN (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now) AS n
GROUP BY s.topic
ORDER BY s.topic
