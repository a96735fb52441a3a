-- queue_release: give claims back that were never started, as they were.
UPDATE {queue_work}
SET status = 0, owner_token = NULL, locked_until = NULL
FROM json_each(:claims) AS c
WHERE seq = CAST(c.key AS INTEGER) AND status = 1 AND owner_token = :owner
  AND (c.value IS NULL OR c.value = claim_number)
RETURNING +seq, +claim_number
