-- job_run_start: note that the runs :seqs begin; what is needed to run them. end: 1 if their job is gone, 2 if whoever had them was asked to end them.
UPDATE {job_run} SET started_at = :now
WHERE seq IN (SELECT s.value FROM json_each(:seqs) AS s)
RETURNING +seq, +job_name, +options,
          CASE WHEN NOT EXISTS (SELECT 1 FROM {job_run} AS r CROSS JOIN {job} AS j WHERE r.seq = {name:job_run}.seq AND j.id = r.job_id) THEN 1
               WHEN EXISTS (SELECT 1 FROM {job_run} AS a WHERE a.seq = {name:job_run}.seq AND a.cancel_at IS NOT NULL
                             AND NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = a.seq AND p.replayed_at >= a.cancel_at)) THEN 2
               ELSE 0 END
