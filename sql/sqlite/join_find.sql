-- join_find: the joins of :count ids, packed 16 bytes each, with their places.
WITH RECURSIVE n (i) AS (
    SELECT 0
    UNION ALL
    SELECT n.i + 1 FROM n WHERE n.i + 1 < :count
)
SELECT +n.i, +j.seq, +j.status
FROM n CROSS JOIN {join} AS j
WHERE j.id = substr(:ids, n.i * 16 + 1, 16)
