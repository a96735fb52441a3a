-- copy_join_forget_next: and what is enqueued of the joins on their way to the store :owner, or from it.
DELETE n
FROM {copy_join} AS c STRAIGHT_JOIN {copy_join_next} AS n FORCE INDEX (PRIMARY) ON n.id = c.id
WHERE c.peer = UNHEX(REPLACE(:owner, '-', ''))
