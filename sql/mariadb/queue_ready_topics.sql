-- queue_ready_topics: the topics with ready messages.
SELECT t.topic
FROM (SELECT DISTINCT w.topic FROM {queue_work} AS w) AS t
WHERE EXISTS (SELECT 1 FROM {queue_work} AS r WHERE r.topic = t.topic AND r.status = 0)
   OR EXISTS (SELECT 1 FROM {queue_work} AS r WHERE r.topic = t.topic AND r.status = 4)
