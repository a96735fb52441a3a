-- copy_join_remove: the joins that go to the store :owner are deleted, with all that is known of them.
DELETE FROM {join} AS j
WHERE EXISTS (SELECT 1 FROM {copy_join} AS c WHERE c.seq = j.seq AND c.id = j.id AND c.peer = CAST(CAST(:owner AS text) AS uuid) AND c.arrived = 0)
