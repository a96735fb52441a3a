-- copy_join_remove_member: what is known of the joins that go to the store :owner goes first.
DELETE n
FROM {copy_join} AS c STRAIGHT_JOIN {join_member} AS n FORCE INDEX (PRIMARY) ON n.join_seq = c.seq
WHERE c.peer = UNHEX(REPLACE(:owner, '-', '')) AND c.arrived = 0
