-- inbox_fill: give the message :number the values that it came with this time. Its ordering key stays while it is unfinished.
UPDATE {inbox}
SET topic = :topic, payload = :payload, headers = :headers, correlation_id = :correlation_id,
    ordering_key = CASE WHEN EXISTS (SELECT 1 FROM {inbox_work} AS w WHERE w.seq = {name:inbox}.seq) THEN ordering_key ELSE :ordering_key END,
    hash = :hash, hash_algorithm = :hash_algorithm, due_at = coalesce(:due_at, :now + :delay), expires_at = :expires_at
WHERE seq = :number
