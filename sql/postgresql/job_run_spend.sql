-- job_run_spend: fail those of the claims {seq: claim number or null} that :owner holds whose job allows no
-- further attempt.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
c AS MATERIALIZED (
    SELECT CAST(CAST(:claims AS text) AS jsonb) AS claims
),
gone AS (
    DELETE FROM {job_run_work} AS w
    WHERE w.seq = ANY (ARRAY(SELECT CAST(k.seq AS bigint) FROM c CROSS JOIN LATERAL jsonb_object_keys(c.claims) AS k (seq)))
      AND w.status = 1
      AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
      AND w.claim_number = coalesce(CAST((SELECT c.claims FROM c) ->> CAST(w.seq AS text) AS bigint), w.claim_number)
      AND w.max_attempts > 0 AND w.attempt + 1 >= w.max_attempts
    RETURNING w.seq, w.attempt, w.claim_number, w.last_error
)
INSERT INTO {job_run_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT gone.seq, 3, gone.attempt + 1, gone.claim_number, n.now,
       NULL, coalesce(CAST(:reason AS text), gone.last_error)
FROM gone CROSS JOIN n
RETURNING seq, claim_number
