-- queue_copy_bury: the dead ones of :seqs are dead letters again.
INSERT INTO {queue_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT w.seq, 3, w.attempt, w.claim_number, i.finished_at, i.finished_by, w.last_error
FROM json_each(:seqs) AS s CROSS JOIN {copy_item} AS i CROSS JOIN {queue_work} AS w
WHERE i.queue = :name AND i.seq = s.value AND i.peer = :owner AND i.status = 3 AND w.seq = s.value AND w.owner_token = :owner
