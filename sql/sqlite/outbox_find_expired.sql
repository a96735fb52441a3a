-- outbox_find_expired: claims whose lease is over, longest first.
SELECT seq, attempt, claim_number, max_attempts, owner_token
FROM {outbox_work}
WHERE status = 1 AND locked_until <= :now
ORDER BY locked_until, seq
LIMIT :batch
