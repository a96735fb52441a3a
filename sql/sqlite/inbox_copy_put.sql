-- queue_copy_put: store a message that comes from another store, unless its key or its id is known here; its number.
INSERT INTO {queue} (seq, id, topic, payload, headers, correlation_id, ordering_key, created_at, due_at, expires_at, source, message_id, consumer, hash, hash_algorithm, last_seen_at)
SELECT (SELECT n.seq FROM {queue_next} AS n), :id, :topic, :payload, :headers, :correlation_id, :ordering_key, :since, :due_at, :expires_at,
       :source, :message_id, :consumer, :hash, :hash_algorithm, :delay
WHERE NOT EXISTS (SELECT 1 FROM {queue} AS o WHERE o.id = :id)
  AND NOT EXISTS (SELECT 1 FROM {queue} AS k WHERE k.source = :source AND k.message_id = :message_id AND k.consumer = :consumer)
RETURNING +seq
