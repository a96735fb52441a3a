-- job_run_cancel: end a run that nobody has, as cancelled.
INSERT INTO {job_run_end} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT w.seq, 6, CAST(w.attempt AS INTEGER), CAST(w.claim_number AS INTEGER), :now, NULL, :reason
FROM {job_run} AS m CROSS JOIN {job_run_work} AS w
WHERE m.id = :id AND w.seq = m.seq AND w.status <> 1
RETURNING (SELECT +f.seq FROM {job_run_finished} AS f WHERE f.seq = {name:job_run_end}.seq)
