-- job_run_find_expired: claims whose lease is over, longest first; 1: their message has expired, too; their jobs' options; 1: whoever had them was asked to end them. They are held until this transaction ends.
SELECT w.seq, w.attempt, w.claim_number, w.max_attempts, HEX(w.owner_token), CASE WHEN w.expires_at <= COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) THEN 1 ELSE 0 END,
       (SELECT m.options FROM {job_run} AS m WHERE m.seq = w.seq),
       EXISTS (SELECT 1 FROM {job_run} AS a WHERE a.seq = w.seq AND a.cancel_at IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = a.seq AND p.replayed_at >= a.cancel_at))
FROM {job_run_work} AS w FORCE INDEX (leased)
WHERE w.status = 1 AND w.locked_until >= :since AND w.locked_until <= COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)))
ORDER BY w.locked_until, w.seq
LIMIT :batch
FOR UPDATE SKIP LOCKED
