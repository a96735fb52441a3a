-- job_run_limit: the attempts that the claimed run :number may take, for whoever reaps it.
UPDATE {job_run_work} SET max_attempts = :max_attempts WHERE seq = :number
