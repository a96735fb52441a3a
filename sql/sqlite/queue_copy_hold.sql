-- queue_copy_hold: the message :number, just stored, is held for the store :owner, and as far as it was there.
UPDATE {queue_work}
SET status = 1, owner_token = :owner, locked_until = :lease, at_once = (:status = 0 AND :attempts = 0 AND :due_at <= :since AND :fired_at <= :since),
    next_attempt_at = :fired_at, attempt = :attempts, claim_number = :version, expires_at = :until, last_error = :reason
WHERE seq = :number
