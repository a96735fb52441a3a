-- outbox_find_held: the attempts of claims that :owner holds, to work out their backoff.
WITH c AS (
    SELECT CAST(j.key AS bigint) AS seq, CAST(j.value AS bigint) AS claim_number
    FROM json_each_text(CAST(CAST(:claims AS text) AS json)) AS j (key, value)
)
SELECT w.seq, w.attempt, w.claim_number
FROM c JOIN {outbox_work} AS w ON w.seq = c.seq AND (c.claim_number IS NULL OR c.claim_number = w.claim_number)
WHERE w.seq = ANY (ARRAY(SELECT c.seq FROM c)) AND w.status = 1
  AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
