-- job_run_asked: which of the runs :seqs are asked to end, and were not replayed since.
SELECT r.seq
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {job_run} AS r FORCE INDEX (PRIMARY) ON r.seq = s.seq
WHERE r.cancel_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = r.seq AND p.replayed_at >= r.cancel_at)
