-- job_run_forget: the runs :seqs.
DELETE r FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {job_run} AS r FORCE INDEX (PRIMARY) ON r.seq = s.seq
