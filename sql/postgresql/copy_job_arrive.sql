-- copy_job_arrive: note that it came from the store :owner, and when it is due once it is let go.
INSERT INTO {copy_job} (job, id, peer, version, next_due_at, fired_at, arrived)
SELECT j.seq, j.id, CAST(CAST(:owner AS text) AS uuid), j.version, CAST(:due_at AS bigint), NULL, 1 FROM {job} AS j WHERE j.seq = CAST(:number AS bigint)
