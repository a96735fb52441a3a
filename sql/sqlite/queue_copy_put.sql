-- queue_copy_put: store a message that comes from another store, unless there is one with its id or an unfinished one with its unique key; its number. A dead letter has no claim to its unique key.
INSERT INTO {queue} (seq, id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
SELECT (SELECT n.seq FROM {queue_next} AS n), :id, :topic, :payload, :headers, :correlation_id, :ordering_key,
       CASE WHEN :status = 0 THEN :unique_key END, :since, :due_at, :expires_at
WHERE NOT EXISTS (SELECT 1 FROM {queue} AS o WHERE o.id = :id)
  AND NOT EXISTS (SELECT 1 FROM {queue_work} AS u WHERE u.unique_key = :unique_key AND :status = 0)
RETURNING +seq
