-- job_run_cancel: end a run that nobody has, as cancelled.
WITH gone AS (
    DELETE FROM {job_run_work} AS w
    WHERE w.seq = (SELECT m.seq FROM {job_run} AS m WHERE m.id = CAST(CAST(:id AS text) AS uuid)) AND w.status <> 1
    RETURNING w.seq, w.attempt, w.claim_number
)
INSERT INTO {job_run_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT gone.seq, 6, gone.attempt, gone.claim_number, coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)), NULL, CAST(:reason AS text)
FROM gone
RETURNING seq
