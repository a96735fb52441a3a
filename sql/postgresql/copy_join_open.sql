-- copy_join_open: the joins that came from the store :owner are joins here. Workers are told of what is enqueued then on the channel :source.
INSERT INTO {join} (id, status, expected, completed, failed, fail_if_any, grouping_key, metadata, created_at, deadline_at, ended_at, reason, channel)
SELECT c.id, c.status, c.expected, c.completed, c.failed, c.fail_if_any, c.grouping_key, c.metadata, c.created_at, c.deadline_at, c.ended_at, c.reason, CAST(:source AS text)
FROM {copy_join} AS c
WHERE c.peer = CAST(CAST(:owner AS text) AS uuid) AND c.arrived = 1
