-- queue_stats_finished: finished messages by topic.
SELECT m.topic, sum(f.status = 2), sum(f.status = 3)
FROM {queue_finished} AS f CROSS JOIN {queue} AS m
WHERE m.seq = f.seq
GROUP BY m.topic
ORDER BY m.topic
