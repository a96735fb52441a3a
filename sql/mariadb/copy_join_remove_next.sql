-- copy_join_remove_next: what is known of the joins that go to the store :owner goes first.
DELETE n
FROM {copy_join} AS c STRAIGHT_JOIN {join_next} AS n FORCE INDEX (PRIMARY) ON n.join_seq = c.seq
WHERE c.peer = UNHEX(REPLACE(:owner, '-', '')) AND c.arrived = 0
