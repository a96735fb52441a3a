-- copy_job_free: it is scheduled again as it was, unless it was changed since.
UPDATE {job} AS j
SET next_due_at = c.next_due_at, fired_at = c.fired_at, version = j.version + 1
FROM {copy_job} AS c
WHERE j.seq = CAST(:number AS bigint) AND c.job = j.seq AND c.id = j.id AND c.version = j.version AND c.peer = CAST(CAST(:owner AS text) AS uuid)
