-- copy_job_remove: it is deleted, unless it was changed since.
DELETE FROM {job} AS j
WHERE j.seq = CAST(:number AS bigint)
  AND EXISTS (SELECT 1 FROM {copy_job} AS c WHERE c.job = j.seq AND c.id = j.id AND c.version = j.version AND c.peer = CAST(CAST(:owner AS text) AS uuid))
