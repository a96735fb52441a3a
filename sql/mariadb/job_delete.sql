-- job_delete: the job :name itself.
DELETE FROM {job} WHERE name = :name RETURNING seq
