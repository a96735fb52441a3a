-- copy_join_back: the joins that came from the store :owner and are not let go yet, as copy_join_read gives others.
SELECT CAST(0 AS bigint), CAST(c.id AS text), CAST(c.status AS bigint), c.expected, c.completed, c.failed, CAST(c.fail_if_any AS bigint), c.grouping_key, c.metadata, c.created_at, c.deadline_at, c.ended_at, c.reason
FROM {copy_join} AS c
WHERE c.peer = CAST(CAST(:owner AS text) AS uuid) AND c.arrived = 1
ORDER BY c.id
