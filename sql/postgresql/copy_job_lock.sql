-- copy_job_lock: the job :number, if it is still the one :id, and not on its way. It is given no run meanwhile.
SELECT j.seq
FROM {job} AS j
WHERE j.seq = CAST(:number AS bigint) AND j.id = CAST(CAST(:id AS text) AS uuid) AND NOT EXISTS (SELECT 1 FROM {copy_job} AS c WHERE c.job = j.seq AND c.id = j.id)
FOR UPDATE OF j
