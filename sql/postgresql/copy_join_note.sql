-- copy_join_note: note that the joins :messages, a JSON array of numbers, go to the store :owner.
INSERT INTO {copy_join} (id, peer, arrived, seq)
SELECT j.id, CAST(CAST(:owner AS text) AS uuid), 0, j.seq
FROM {join} AS j
WHERE j.seq = ANY (ARRAY(SELECT CAST(s.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:messages AS text) AS json)) AS s (seq)))
  AND NOT EXISTS (SELECT 1 FROM {copy_join} AS c WHERE c.id = j.id)
