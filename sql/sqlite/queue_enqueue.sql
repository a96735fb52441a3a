-- queue_enqueue: store one message; triggers add it to the tables.
INSERT INTO {queue_new} (id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
VALUES (:id, :topic, :payload, :headers, :correlation_id, :ordering_key, NULL, :now, coalesce(:due_at, :now + :delay), :expires_at)
