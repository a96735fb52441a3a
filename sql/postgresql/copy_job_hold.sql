-- copy_job_hold: it is not scheduled.
UPDATE {job} SET next_due_at = NULL, fired_at = NULL, version = version + 1 WHERE seq = CAST(:number AS bigint)
