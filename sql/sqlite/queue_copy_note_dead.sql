-- queue_copy_note_dead: note the dead letters :seqs, with what a work row does not hold.
INSERT INTO {copy_item} (queue, seq, peer, status, finished_at, finished_by)
SELECT :name, f.seq, :owner, 3, f.finished_at, f.finished_by
FROM {queue_finished} AS f
WHERE f.seq IN (SELECT s.value FROM json_each(:seqs) AS s) AND f.status = 3
