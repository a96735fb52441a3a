-- job_run_find_expired: claims whose lease is over, longest first; 1: their message has expired, too; their jobs' options.
SELECT seq, attempt, claim_number, max_attempts, owner_token, CASE WHEN expires_at <= :now THEN 1 ELSE 0 END,
       (SELECT m.options FROM {job_run} AS m WHERE m.seq = {job_run_work}.seq)
FROM {job_run_work}
WHERE status = 1 AND locked_until <= :now
ORDER BY locked_until, seq
LIMIT :batch
