-- queue_enqueue_unique: store one message unless an unfinished one has its unique key.
INSERT INTO {queue_new} (id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
SELECT :id, :topic, :payload, :headers, :correlation_id, :ordering_key, :unique_key, :now, coalesce(:due_at, :now + :delay), :expires_at
WHERE NOT EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.unique_key = :unique_key)
RETURNING (SELECT +m.id FROM {queue} AS m WHERE m.id = {name:queue_new}.id)
