-- inbox_fill: give the message :number the values that it came with this time. Its ordering key stays while it is unfinished.
UPDATE {inbox} AS m
SET m.topic = :topic, m.payload = :payload, m.headers = :headers, m.correlation_id = :correlation_id,
    m.ordering_key = CASE WHEN m.worked = 1 AND EXISTS (SELECT 1 FROM {inbox_work} AS w WHERE w.seq = m.seq) THEN m.ordering_key ELSE :ordering_key END,
    m.hash = :hash, m.hash_algorithm = :hash_algorithm, m.expires_at = :expires_at, m.worked = 1,
    m.due_at = COALESCE(:due_at, COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) + :delay)
WHERE m.seq = :number
