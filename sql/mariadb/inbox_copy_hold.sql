-- queue_copy_hold: the message :number, just stored, is held for the store :owner, and as far as it was there.
INSERT INTO {queue_work} (seq, topic, status, next_attempt_at, attempt, claim_number, owner_token, locked_until, ordering_key, expires_at, last_error)
SELECT m.seq, COALESCE(m.topic, ''), 1, :fired_at, :attempts, :version, UNHEX(REPLACE(:owner, '-', '')), :lease, CASE WHEN :status = 0 THEN m.ordering_key END, :until, :reason
FROM {queue} AS m
WHERE m.seq = :number
