-- queue_stats_finished: finished messages by topic.
SELECT m.topic, count(*) FILTER (WHERE f.status = 2), count(*) FILTER (WHERE f.status = 3)
FROM {queue_finished} AS f JOIN {queue} AS m ON m.seq = f.seq
GROUP BY m.topic
ORDER BY m.topic
