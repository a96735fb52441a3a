-- copy_join_read: the joins that go to the store :owner.
SELECT j.seq, CAST(j.id AS text), CAST(j.status AS bigint), j.expected, j.completed, j.failed, CAST(j.fail_if_any AS bigint), j.grouping_key, j.metadata, j.created_at, j.deadline_at, j.ended_at, j.reason
FROM {copy_join} AS c JOIN {join} AS j ON j.seq = c.seq AND j.id = c.id
WHERE c.peer = CAST(CAST(:owner AS text) AS uuid) AND c.arrived = 0
ORDER BY j.seq
