-- copy_join_list: the joins on their way to the store :owner, or from it: number here or 0, id; 1: it came from there.
SELECT coalesce(c.seq, 0), c.id, c.arrived
FROM {copy_join} AS c
WHERE c.peer = :owner
ORDER BY c.id
