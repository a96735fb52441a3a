-- copy_job_forget: it is not on its way any more.
DELETE FROM {copy_job} WHERE job = CAST(:number AS bigint) AND peer = CAST(CAST(:owner AS text) AS uuid)
