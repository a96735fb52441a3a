-- copy_join_lock: the joins that go to the store :owner: number, id. They get no members meanwhile, and nobody changes them.
SELECT j.seq, HEX(j.id)
FROM {copy_join} AS c STRAIGHT_JOIN {join} AS j FORCE INDEX (id) ON j.id = c.id AND j.seq = c.seq
WHERE c.peer = UNHEX(REPLACE(:owner, '-', '')) AND c.arrived = 0
FOR UPDATE
