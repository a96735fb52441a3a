-- job_run_ask: ask whoever runs it, or will, to end a run.
UPDATE {job_run} SET cancel_at = :now
WHERE id = :id AND EXISTS (SELECT 1 FROM {job_run_work} AS w WHERE w.seq = {name:job_run}.seq)
RETURNING +seq
