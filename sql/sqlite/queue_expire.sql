-- queue_expire: fail waiting messages that are past their expiry.
INSERT INTO {queue_end} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT w.seq, 3, CAST(w.attempt AS INTEGER), CAST(w.claim_number AS INTEGER), :now, :worker, :reason
FROM {queue_work} AS w
WHERE w.expires_at <= :now AND w.status <> 1
ORDER BY w.expires_at, w.seq
LIMIT :batch
RETURNING seq
