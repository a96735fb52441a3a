-- inbox_copy_end: the message :number, just stored, was done elsewhere.
INSERT INTO {inbox_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
VALUES (:number, 2, :attempts, :version, :occurrence, :worker, :reason)
