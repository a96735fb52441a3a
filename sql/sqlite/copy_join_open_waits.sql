-- copy_join_open_waits: with the messages that wait for them.
INSERT INTO {join_wait} (join_seq, seq)
SELECT j.seq, o.seq
FROM {copy_join} AS c CROSS JOIN {join} AS j ON j.id = c.id CROSS JOIN {copy_join_member} AS m ON m.id = c.id CROSS JOIN {outbox} AS o ON o.id = m.message
WHERE c.peer = :owner AND c.arrived = 1 AND m.status = 3 AND j.status = 0
