-- copy_job_known: whether there is a job of the name :name, or with the id :id.
SELECT 1 FROM {job} AS j WHERE j.name = :name
UNION ALL
SELECT 1 FROM {job} AS o WHERE o.id = UNHEX(REPLACE(:id, '-', ''))
