-- inbox_add_work: the message :number is to be processed, if it is more than seen.
INSERT INTO {inbox_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key, expires_at)
SELECT m.seq, m.topic, 0, m.due_at, 0, 0, m.ordering_key, m.expires_at
FROM {inbox} AS m
WHERE m.seq = CAST(:number AS bigint) AND m.topic IS NOT NULL
