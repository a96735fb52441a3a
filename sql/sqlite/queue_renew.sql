-- queue_renew: extend claims to :lease us from now.
UPDATE {queue_work}
SET locked_until = :now + :lease
FROM json_each(:claims) AS c
WHERE seq = CAST(c.key AS INTEGER) AND status = 1 AND owner_token = :owner
  AND (c.value IS NULL OR c.value = claim_number)
RETURNING +seq, +claim_number
