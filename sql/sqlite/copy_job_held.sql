-- copy_job_held: the job :number, if it is held for the store :owner, and was not changed since. It is given no run meanwhile.
SELECT +j.seq
FROM {copy_job} AS c CROSS JOIN {job} AS j ON j.seq = c.job AND j.id = c.id
WHERE c.job = :number AND c.peer = :owner AND j.version = c.version
