-- job_next_due: in how many us the next job is due, or null.
SELECT min(j.next_due_at) - coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) FROM {job} AS j WHERE j.next_due_at IS NOT NULL
