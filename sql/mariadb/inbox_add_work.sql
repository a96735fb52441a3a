-- inbox_add_work: the message :number is to be processed, if it is more than seen.
INSERT INTO {inbox_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key, expires_at)
SELECT m.seq, m.topic, CASE WHEN m.ordering_key IS NULL THEN 0 ELSE 4 END, m.due_at, 0, 0, m.ordering_key, m.expires_at
FROM {inbox} AS m
WHERE m.seq = :number AND m.topic IS NOT NULL
