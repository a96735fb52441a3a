-- copy_join_find: the next open join behind the one :number that is not on its way: number, id.
SELECT j.seq, j.id
FROM {join} AS j
WHERE j.seq > :number AND j.status = 0 AND NOT EXISTS (SELECT 1 FROM {copy_join} AS c WHERE c.id = j.id)
ORDER BY j.seq
LIMIT 1
