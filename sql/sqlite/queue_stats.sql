-- queue_stats: unfinished messages by topic; of those in progress last, whose lease is over.
SELECT topic,
       sum(status = 0 AND (at_once = 1 OR next_attempt_at <= :now)),
       sum(status = 0 AND at_once = 0 AND next_attempt_at > :now),
       sum(status = 1),
       sum(status = 4),
       coalesce(max(:now - CAST(min(CASE WHEN status = 0 AND (at_once = 1 OR next_attempt_at <= :now) THEN next_attempt_at END) AS INTEGER), 0), 0),
       sum(coalesce(status = 1 AND locked_until <= :now, 0))
FROM {queue_work}
GROUP BY topic
ORDER BY topic
