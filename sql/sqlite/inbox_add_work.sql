-- inbox_add_work: the message :number is to be processed, if it is more than seen.
INSERT INTO {inbox_work} (seq, topic, status, at_once, next_attempt_at, attempt, claim_number, ordering_key, expires_at)
SELECT m.seq, m.topic,
       CASE WHEN m.ordering_key IS NOT NULL
             AND EXISTS (SELECT 1 FROM {inbox_work} AS w WHERE w.ordering_key = m.ordering_key)
            THEN 4 ELSE 0 END,
       m.due_at <= :now, m.due_at, 0, 0, m.ordering_key, m.expires_at
FROM {inbox} AS m
WHERE m.seq = :number AND m.topic IS NOT NULL
