-- queue_find_held: the attempts of claims that :owner holds, to work out their backoff.
WITH c AS MATERIALIZED (
    SELECT CAST(CAST(:claims AS text) AS jsonb) AS claims
)
SELECT w.seq, w.attempt, w.claim_number
FROM {queue_work} AS w
WHERE w.seq = ANY (ARRAY(SELECT CAST(k.seq AS bigint) FROM c CROSS JOIN LATERAL jsonb_object_keys(c.claims) AS k (seq)))
  AND w.status = 1
  AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
  AND w.claim_number = coalesce(CAST((SELECT c.claims FROM c) ->> CAST(w.seq AS text) AS bigint), w.claim_number)
