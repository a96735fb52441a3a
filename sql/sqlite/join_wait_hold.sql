-- join_wait_hold: claims [join, message, claim number] of :owner go back until their join is over, or for :delay us.
UPDATE {outbox_work}
SET status = 0, at_once = 0, next_attempt_at = :now + :delay, owner_token = NULL, locked_until = NULL
FROM json_each(:messages) AS c
WHERE seq = json_extract(c.value, '$[1]') AND status = 1 AND owner_token = :owner AND claim_number = json_extract(c.value, '$[2]')
RETURNING +seq
