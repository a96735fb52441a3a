-- copy_join_forget_member: their members are forgotten of the joins on their way to the store :owner, or from it.
DELETE n
FROM {copy_join} AS c STRAIGHT_JOIN {copy_join_member} AS n FORCE INDEX (PRIMARY) ON n.id = c.id
WHERE c.peer = UNHEX(REPLACE(:owner, '-', ''))
