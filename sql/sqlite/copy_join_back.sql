-- copy_join_back: the joins that came from the store :owner and are not let go yet, as copy_join_read gives others.
SELECT 0, c.id, c.status, c.expected, c.completed, c.failed, c.fail_if_any, c.grouping_key, c.metadata, c.created_at, c.deadline_at, c.ended_at, c.reason
FROM {copy_join} AS c
WHERE c.peer = :owner AND c.arrived = 1
ORDER BY c.id
