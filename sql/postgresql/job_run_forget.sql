-- job_run_forget: the runs :seqs.
DELETE FROM {job_run} AS r WHERE r.seq IN (SELECT CAST(s.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS s (seq))
