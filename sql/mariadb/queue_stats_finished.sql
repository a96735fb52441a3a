-- queue_stats_finished: finished messages by topic.
SELECT m.topic, SUM(f.status = 2), SUM(f.status = 3)
FROM {queue_finished} AS f JOIN {queue} AS m ON m.seq = f.seq
GROUP BY m.topic
ORDER BY m.topic
