-- queue_resolve: the sequence numbers of :count ids, packed 16 bytes each; whether they have ordering keys.
WITH RECURSIVE n (i) AS (
    SELECT 0
    UNION ALL
    SELECT n.i + 1 FROM n WHERE n.i + 1 < :count
)
SELECT +n.i, +m.seq, m.ordering_key IS NOT NULL
FROM n CROSS JOIN {queue} AS m
WHERE m.id = substr(:ids, n.i * 16 + 1, 16)
