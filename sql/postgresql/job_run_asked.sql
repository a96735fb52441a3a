-- job_run_asked: which of the runs :seqs are asked to end.
SELECT r.seq FROM {job_run} AS r
WHERE r.seq IN (SELECT CAST(s.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS s (seq)) AND r.cancel_at IS NOT NULL
