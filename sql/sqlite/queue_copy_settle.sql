-- queue_copy_settle: those of :seqs are done here, and known as such.
INSERT INTO {queue_finished} (seq, status, attempt, claim_number, finished_at, finished_by)
SELECT w.seq, 2, w.attempt, w.claim_number, :now, :worker
FROM json_each(:seqs) AS s CROSS JOIN {copy_item} AS i CROSS JOIN {queue_work} AS w
WHERE i.queue = :name AND i.seq = s.value AND i.peer = :owner AND w.seq = s.value
