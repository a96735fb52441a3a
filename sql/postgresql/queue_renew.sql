-- queue_renew: extend claims to :lease us from now.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
c AS MATERIALIZED (
    SELECT CAST(CAST(:claims AS text) AS jsonb) AS claims
)
UPDATE {queue_work} AS w
SET locked_until = (SELECT now FROM n) + CAST(:lease AS bigint)
WHERE w.seq = ANY (ARRAY(SELECT CAST(k.seq AS bigint) FROM c CROSS JOIN LATERAL jsonb_object_keys(c.claims) AS k (seq)))
  AND w.status = 1
  AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
  AND w.claim_number = coalesce(CAST((SELECT c.claims FROM c) ->> CAST(w.seq AS text) AS bigint), w.claim_number)
RETURNING w.seq, w.claim_number
