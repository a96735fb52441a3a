-- copy_join_read_members: their members: number, id, the join, how it counted, when it was attached and counted; and the messages that wait for them and were seen: 3 instead.
SELECT m.seq, CAST(m.id AS text), CAST(c.id AS text), CAST(m.status AS bigint), m.attached_at, m.counted_at
FROM {copy_join} AS c JOIN {join_member} AS m ON m.join_seq = c.seq
WHERE c.peer = CAST(CAST(:owner AS text) AS uuid) AND c.arrived = 0
UNION ALL
SELECT o.seq, CAST(o.id AS text), CAST(d.id AS text), CAST(3 AS bigint), CAST(0 AS bigint), CAST(NULL AS bigint)
FROM {copy_join} AS d JOIN {join_wait} AS v ON v.join_seq = d.seq JOIN {outbox} AS o ON o.seq = v.seq JOIN {outbox_work} AS w ON w.seq = o.seq
WHERE d.peer = CAST(CAST(:owner AS text) AS uuid) AND d.arrived = 0
ORDER BY 1
