-- copy_join_note: note that the joins :messages, a JSON array of numbers, go to the store :owner.
INSERT INTO {copy_join} (id, peer, arrived, seq)
SELECT j.id, :owner, 0, j.seq
FROM json_each(:messages) AS s CROSS JOIN {join} AS j
WHERE j.seq = s.value AND NOT EXISTS (SELECT 1 FROM {copy_join} AS c WHERE c.id = j.id)
