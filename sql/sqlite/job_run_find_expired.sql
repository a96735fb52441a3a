-- job_run_find_expired: claims whose lease is over, longest first; 1: their message has expired, too; their jobs' options; 1: whoever had them was asked to end them.
SELECT seq, attempt, claim_number, max_attempts, owner_token, CASE WHEN expires_at <= :now THEN 1 ELSE 0 END,
       (SELECT m.options FROM {job_run} AS m WHERE m.seq = {name:job_run_work}.seq),
       EXISTS (SELECT 1 FROM {job_run} AS a WHERE a.seq = {name:job_run_work}.seq AND a.cancel_at IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = a.seq AND p.replayed_at >= a.cancel_at))
FROM {job_run_work}
WHERE status = 1 AND locked_until <= :now
ORDER BY locked_until, seq
LIMIT :batch
