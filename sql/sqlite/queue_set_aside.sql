-- queue_set_aside: fail the message :number, whose row cannot be read.
INSERT INTO {queue_end} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT w.seq, 3, coalesce(CAST(w.attempt AS INTEGER), 0), coalesce(CAST(w.claim_number AS INTEGER), 0), :now, :worker, :reason
FROM {queue_work} AS w
WHERE w.seq = :number
