-- job_run_asked: which of the runs :seqs are asked to end.
SELECT +r.seq FROM json_each(:seqs) AS s CROSS JOIN {job_run} AS r WHERE r.seq = s.value AND r.cancel_at IS NOT NULL
