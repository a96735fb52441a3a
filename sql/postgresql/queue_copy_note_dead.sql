-- queue_copy_note_dead: note the dead letters :seqs, with what a work row does not hold.
INSERT INTO {copy_item} (queue, seq, peer, status, finished_at, finished_by)
SELECT CAST(:name AS text), f.seq, CAST(CAST(:owner AS text) AS uuid), 3, f.finished_at, f.finished_by
FROM {queue_finished} AS f
WHERE f.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND f.status = 3
