-- job_run_output: what the handler of the run :number returned.
UPDATE {job_run} SET output = CAST(:payload AS text) WHERE seq = CAST(:number AS bigint)
