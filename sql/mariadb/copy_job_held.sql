-- copy_job_held: the job :number, if it is held for the store :owner, and was not changed since. It is given no run meanwhile: job_run_add holds its place in that index.
SELECT j.seq
FROM {copy_job} AS c STRAIGHT_JOIN {job} AS j FORCE INDEX (id) ON j.id = c.id AND j.seq = c.job
WHERE c.job = :number AND c.peer = UNHEX(REPLACE(:owner, '-', '')) AND j.version = c.version
FOR UPDATE
