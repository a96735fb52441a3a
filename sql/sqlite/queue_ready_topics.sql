-- queue_ready_topics: the topics with ready messages, one index step each.
WITH RECURSIVE t (topic) AS (
    SELECT min(w.topic) FROM {queue_work} AS w WHERE w.status = 0
    UNION ALL
    SELECT (SELECT min(w.topic) FROM {queue_work} AS w WHERE w.status = 0 AND w.topic > t.topic)
    FROM t WHERE t.topic IS NOT NULL
)
SELECT topic FROM t WHERE topic IS NOT NULL
