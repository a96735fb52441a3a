-- copy_join_read: the joins that go to the store :owner.
SELECT j.seq, HEX(j.id), j.status, j.expected, j.completed, j.failed, j.fail_if_any, j.grouping_key, j.metadata, j.created_at, j.deadline_at, j.ended_at, j.reason
FROM {copy_join} AS c JOIN {join} AS j ON j.seq = c.seq AND j.id = c.id
WHERE c.peer = UNHEX(REPLACE(:owner, '-', '')) AND c.arrived = 0
ORDER BY j.seq
