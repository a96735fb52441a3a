-- copy_join_read_members: their members: number, id, the join, how it counted, when it was attached and counted; and the messages that wait for them and were seen: 3 instead.
SELECT m.seq, m.id, c.id, m.status, m.attached_at, m.counted_at
FROM {copy_join} AS c CROSS JOIN {join_member} AS m ON m.join_seq = c.seq
WHERE c.peer = :owner AND c.arrived = 0
UNION ALL
SELECT o.seq, o.id, d.id, 3, 0, NULL
FROM {copy_join} AS d CROSS JOIN {join_wait} AS v ON v.join_seq = d.seq CROSS JOIN {outbox} AS o ON o.seq = v.seq CROSS JOIN {outbox_work} AS w ON w.seq = o.seq
WHERE d.peer = :owner AND d.arrived = 0
ORDER BY 1
