-- job_delete: the job :name itself.
DELETE FROM {job} AS j WHERE j.name = CAST(:name AS text) RETURNING j.seq
