-- inbox_retry: give claims back after a failed attempt, to be tried again in :delay us, and not
-- before a due time that came meanwhile.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
c AS MATERIALIZED (
    SELECT CAST(CAST(:claims AS text) AS jsonb) AS claims
)
UPDATE {inbox_work} AS w
SET status = 0, next_attempt_at = greatest((SELECT now FROM n) + CAST(:delay AS bigint), w.next_attempt_at),
    attempt = w.attempt + 1,
    owner_token = NULL, locked_until = NULL, last_error = coalesce(CAST(:reason AS text), w.last_error)
WHERE w.seq = ANY (ARRAY(SELECT CAST(k.seq AS bigint) FROM c CROSS JOIN LATERAL jsonb_object_keys(c.claims) AS k (seq)))
  AND w.status = 1
  AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
  AND w.claim_number = coalesce(CAST((SELECT c.claims FROM c) ->> CAST(w.seq AS text) AS bigint), w.claim_number)
RETURNING w.seq, w.claim_number
