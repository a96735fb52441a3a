-- copy_join_list: the joins on their way to the store :owner, or from it: number here or 0, id; 1: it came from there.
SELECT coalesce(c.seq, 0), CAST(c.id AS text), CAST(c.arrived AS bigint)
FROM {copy_join} AS c
WHERE c.peer = CAST(CAST(:owner AS text) AS uuid)
ORDER BY c.id
