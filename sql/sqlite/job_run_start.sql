-- job_run_start: note that the runs :seqs begin; what is needed to run them. job: 0 if their job is gone.
UPDATE {job_run} SET started_at = :now
WHERE seq IN (SELECT s.value FROM json_each(:seqs) AS s)
RETURNING +seq, +job_name, +options,
          EXISTS (SELECT 1 FROM {job_run} AS r CROSS JOIN {job} AS j WHERE r.seq = {job_run}.seq AND j.id = r.job_id)
