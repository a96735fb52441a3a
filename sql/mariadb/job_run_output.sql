-- job_run_output: what the handler of the run :number returned.
UPDATE {job_run} SET output = :payload WHERE seq = :number
