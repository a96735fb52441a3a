-- job_run_spend: fail those of the claims {seq: claim number or null} that :owner holds whose job allows no further attempt.
INSERT INTO {job_run_end} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT w.seq, 3, CAST(w.attempt AS INTEGER) + 1, w.claim_number, :now, NULL, CAST(coalesce(:reason, w.last_error) AS TEXT)
FROM json_each(:claims) AS c CROSS JOIN {job_run_work} AS w
WHERE w.seq = CAST(c.key AS INTEGER) AND w.status = 1 AND w.owner_token = :owner
  AND (c.value IS NULL OR c.value = w.claim_number)
  AND w.max_attempts > 0 AND w.attempt + 1 >= w.max_attempts
RETURNING (SELECT +f.seq FROM {job_run_finished} AS f WHERE f.seq = {name:job_run_end}.seq), +claim_number
