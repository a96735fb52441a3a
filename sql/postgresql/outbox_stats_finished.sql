-- outbox_stats_finished: finished messages by topic.
SELECT m.topic, count(*) FILTER (WHERE f.status = 2), count(*) FILTER (WHERE f.status = 3)
FROM {outbox_finished} AS f JOIN {outbox} AS m ON m.seq = f.seq
GROUP BY m.topic
ORDER BY m.topic
