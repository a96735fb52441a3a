-- job_drop_runs: the runs of the job :name that are neither in the queue nor finished.
DELETE FROM {job_run}
WHERE {name:job_run}.job_id = (SELECT j.id FROM {job} AS j WHERE j.name = :name)
  AND NOT EXISTS (SELECT 1 FROM {job_run_work} AS w WHERE w.seq = {name:job_run}.seq)
  AND NOT EXISTS (SELECT 1 FROM {job_run_finished} AS f WHERE f.seq = {name:job_run}.seq)
