-- inbox_retry: give claims back after a failed attempt, to be tried again in :delay us, and not before a due time that came meanwhile.
UPDATE {inbox_work}
SET status = 0, at_once = 0, next_attempt_at = CASE WHEN at_once THEN :now + :delay ELSE max(:now + :delay, next_attempt_at) END, attempt = CAST(attempt AS INTEGER) + 1,
    owner_token = NULL, locked_until = NULL, last_error = CAST(coalesce(:reason, last_error) AS TEXT)
FROM json_each(:claims) AS c
WHERE seq = CAST(c.key AS INTEGER) AND status = 1 AND owner_token = :owner
  AND (c.value IS NULL OR c.value = claim_number)
RETURNING +seq, +claim_number
