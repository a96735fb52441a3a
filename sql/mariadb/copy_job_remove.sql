-- copy_job_remove: it is deleted, unless it was changed since.
DELETE j
FROM {copy_job} AS c STRAIGHT_JOIN {job} AS j FORCE INDEX (PRIMARY) ON j.seq = c.job AND j.id = c.id AND j.version = c.version
WHERE c.job = :number AND c.peer = UNHEX(REPLACE(:owner, '-', ''))
