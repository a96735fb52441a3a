-- job_run_ask: ask whoever runs it to end a run.
UPDATE {job_run} AS r SET cancel_at = coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))
WHERE r.id = CAST(CAST(:id AS text) AS uuid) AND EXISTS (SELECT 1 FROM {job_run_work} AS w WHERE w.seq = r.seq AND w.status = 1)
RETURNING r.seq
