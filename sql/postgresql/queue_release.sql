-- queue_release: give claims back that were never started, as they were.
WITH c AS MATERIALIZED (
    SELECT CAST(CAST(:claims AS text) AS jsonb) AS claims
)
UPDATE {queue_work} AS w
SET status = 0, owner_token = NULL, locked_until = NULL
WHERE w.seq = ANY (ARRAY(SELECT CAST(k.seq AS bigint) FROM c CROSS JOIN LATERAL jsonb_object_keys(c.claims) AS k (seq)))
  AND w.status = 1
  AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
  AND w.claim_number = coalesce(CAST((SELECT c.claims FROM c) ->> CAST(w.seq AS text) AS bigint), w.claim_number)
RETURNING w.seq, w.claim_number
