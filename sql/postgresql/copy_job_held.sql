-- copy_job_held: the job :number, if it is held for the store :owner, and was not changed since. It is given no run meanwhile.
SELECT j.seq
FROM {copy_job} AS c JOIN {job} AS j ON j.seq = c.job AND j.id = c.id
WHERE c.job = CAST(:number AS bigint) AND c.peer = CAST(CAST(:owner AS text) AS uuid) AND j.version = c.version
FOR UPDATE OF j
