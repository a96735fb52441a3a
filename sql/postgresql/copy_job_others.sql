-- copy_job_others: one of its unfinished runs that the store :owner does not hold, if there is one.
SELECT w.seq
FROM {job} AS j JOIN {job_run} AS r ON r.job_id = j.id JOIN {job_run_work} AS w ON w.seq = r.seq
WHERE j.seq = CAST(:number AS bigint) AND (w.owner_token IS NULL OR w.owner_token <> CAST(CAST(:owner AS text) AS uuid))
LIMIT 1
