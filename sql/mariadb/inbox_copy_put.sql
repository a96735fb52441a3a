-- queue_copy_put: store a message that comes from another store, unless its key or its id is known here; its number.
INSERT INTO {queue} (id, topic, payload, headers, correlation_id, ordering_key, created_at, due_at, expires_at, source, message_id, consumer, hash, hash_algorithm, last_seen_at, worked)
VALUES (UNHEX(REPLACE(:id, '-', '')), :topic, :payload, :headers, :correlation_id, :ordering_key, :since, :due_at, :expires_at,
        :source, :message_id, :consumer, :hash, :hash_algorithm, :delay, 1)
RETURNING seq
