-- outbox_release: give claims back that were never started, as they were.
WITH c AS (
    SELECT CAST(j.key AS bigint) AS seq, CAST(j.value AS bigint) AS claim_number
    FROM json_each_text(CAST(CAST(:claims AS text) AS json)) AS j (key, value)
)
UPDATE {outbox_work} AS w
SET status = 0, owner_token = NULL, locked_until = NULL
FROM c
WHERE w.seq = ANY (ARRAY(SELECT c.seq FROM c)) AND w.seq = c.seq AND w.status = 1
  AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
  AND (c.claim_number IS NULL OR c.claim_number = w.claim_number)
RETURNING w.seq, w.claim_number
