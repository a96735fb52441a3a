-- copy_join_open_members: with their members; those whose messages are not here have numbers below 0, in their order. A message is one member of a join: the one that counted.
INSERT INTO {join_member} (join_seq, seq, id, status, attached_at, counted_at)
SELECT j.seq, coalesce((SELECT o.seq FROM {outbox} AS o WHERE o.id = m.message), m.place - 1099511627776), m.message, m.status, m.attached_at, m.counted_at
FROM {copy_join} AS c CROSS JOIN {join} AS j ON j.id = c.id CROSS JOIN {copy_join_member} AS m ON m.id = c.id
WHERE c.peer = :owner AND c.arrived = 1 AND m.status <> 3
ORDER BY m.status DESC, m.place
ON CONFLICT (join_seq, seq) DO NOTHING
