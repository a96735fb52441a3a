-- job_get: a job with its last run.
EXEC {Jobs_Get} @Name = :name
