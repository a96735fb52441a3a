-- job_run_ask: ask whoever runs it, or will, to end a run.
UPDATE {job_run} AS r SET cancel_at = coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))
WHERE r.id = CAST(CAST(:id AS text) AS uuid) AND EXISTS (SELECT 1 FROM {job_run_work} AS w WHERE w.seq = r.seq)
RETURNING r.seq
