-- copy_job_free: it is scheduled again as it was, unless it was changed since.
UPDATE {copy_job} AS c STRAIGHT_JOIN {job} AS j FORCE INDEX (PRIMARY) ON j.seq = c.job AND j.id = c.id AND j.version = c.version
SET j.next_due_at = c.next_due_at, j.fired_at = c.fired_at, j.version = j.version + 1
WHERE c.job = :number AND c.peer = UNHEX(REPLACE(:owner, '-', ''))
