-- job_drop_work: take pending runs of the job :name out of the queue.
DELETE FROM {job_run_work} AS w
WHERE w.status <> 1 AND w.seq IN (SELECT r.seq FROM {job_run} AS r WHERE r.job_id = (SELECT j.id FROM {job} AS j WHERE j.name = CAST(:name AS text)))
