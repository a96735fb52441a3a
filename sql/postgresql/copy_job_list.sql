-- copy_job_list: the jobs on their way to the store :owner, or from it: number, id, name; 1: it is held, 2: it was changed since, 0: it was deleted; 1: it came from there.
SELECT c.job, CAST(c.id AS text), j.name, CASE WHEN j.seq IS NULL THEN 0 WHEN j.version = c.version THEN 1 ELSE 2 END, CAST(c.arrived AS bigint)
FROM {copy_job} AS c LEFT JOIN {job} AS j ON j.seq = c.job AND j.id = c.id
WHERE c.peer = CAST(CAST(:owner AS text) AS uuid)
ORDER BY c.job
