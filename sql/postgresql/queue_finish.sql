-- queue_finish: end the claims {seq: claim number or null} that :owner holds, as done or failed; 0, for listening workers are told of joins.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
c AS MATERIALIZED (
    SELECT CAST(CAST(:claims AS text) AS jsonb) AS claims
),
gone AS (
    DELETE FROM {queue_work} AS w
    WHERE w.seq = ANY (ARRAY(SELECT CAST(k.seq AS bigint) FROM c CROSS JOIN LATERAL jsonb_object_keys(c.claims) AS k (seq)))
      AND w.status = 1
      AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
      AND w.claim_number = coalesce(CAST((SELECT c.claims FROM c) ->> CAST(w.seq AS text) AS bigint), w.claim_number)
    RETURNING w.seq, w.attempt, w.claim_number, w.last_error
)
INSERT INTO {queue_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT gone.seq, CAST(:status AS smallint), gone.attempt + CAST(:attempts AS bigint), gone.claim_number, n.now,
       CAST(:worker AS text), coalesce(CAST(:reason AS text), gone.last_error)
FROM gone CROSS JOIN n{again}
RETURNING seq, claim_number, 0
