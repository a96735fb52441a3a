-- job_run_asked: which of the runs :seqs are asked to end, and were not replayed since.
SELECT r.seq FROM {job_run} AS r
WHERE r.seq IN (SELECT CAST(s.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS s (seq)) AND r.cancel_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = r.seq AND p.replayed_at >= r.cancel_at)
