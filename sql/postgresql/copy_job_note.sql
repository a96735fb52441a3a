-- copy_job_note: note that it goes to the store :owner, and what it gets back if it does not.
INSERT INTO {copy_job} (job, id, peer, version, next_due_at, fired_at, arrived)
SELECT j.seq, j.id, CAST(CAST(:owner AS text) AS uuid), j.version + 1, j.next_due_at, j.fired_at, 0 FROM {job} AS j WHERE j.seq = CAST(:number AS bigint)
