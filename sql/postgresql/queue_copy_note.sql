-- queue_copy_note: note those that are held so.
INSERT INTO {copy_item} (queue, seq, peer, status)
SELECT CAST(:name AS text), w.seq, w.owner_token, 0
FROM {queue_work} AS w
WHERE w.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND w.status = 1 AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
