-- job_run_forget: the runs :seqs.
DELETE FROM {job_run} WHERE seq IN (SELECT s.value FROM json_each(:seqs) AS s)
