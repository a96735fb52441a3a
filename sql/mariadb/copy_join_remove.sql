-- copy_join_remove: the joins that go to the store :owner are deleted, with all that is known of them.
DELETE j
FROM {copy_join} AS c STRAIGHT_JOIN {join} AS j FORCE INDEX (PRIMARY) ON j.seq = c.seq AND j.id = c.id
WHERE c.peer = UNHEX(REPLACE(:owner, '-', '')) AND c.arrived = 0
