-- copy_join_lock: the joins that go to the store :owner: number, id. They get no members meanwhile, and nobody changes them.
SELECT j.seq, CAST(j.id AS text)
FROM {copy_join} AS c JOIN {join} AS j ON j.seq = c.seq AND j.id = c.id
WHERE c.peer = CAST(CAST(:owner AS text) AS uuid) AND c.arrived = 0
ORDER BY j.seq
FOR UPDATE OF j
