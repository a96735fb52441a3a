-- copy_job_lock: the job :number, if it is still the one :id, and not on its way. It is given no run meanwhile.
SELECT j.seq
FROM {job} AS j
WHERE j.seq = :number AND j.id = UNHEX(REPLACE(:id, '-', '')) AND NOT EXISTS (SELECT 1 FROM {copy_job} AS c WHERE c.job = j.seq AND c.id = j.id)
FOR UPDATE
