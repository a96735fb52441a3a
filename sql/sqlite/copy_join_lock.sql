-- copy_join_lock: the joins that go to the store :owner: number, id. They get no members meanwhile, and nobody changes them.
SELECT +j.seq, +j.id
FROM {copy_join} AS c CROSS JOIN {join} AS j
WHERE c.peer = :owner AND c.arrived = 0 AND j.seq = c.seq AND j.id = c.id
