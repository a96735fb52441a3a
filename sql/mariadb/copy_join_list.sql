-- copy_join_list: the joins on their way to the store :owner, or from it: number here or 0, id; 1: it came from there.
SELECT COALESCE(c.seq, 0), HEX(c.id), c.arrived
FROM {copy_join} AS c
WHERE c.peer = UNHEX(REPLACE(:owner, '-', ''))
ORDER BY c.id
