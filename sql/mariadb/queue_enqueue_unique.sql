-- queue_enqueue_unique: store one message unless an unfinished one has its unique key; its id, if it was. Waits for a transaction that is storing the same key.
CALL {queue_enqueue_unique}(:id, :topic, :payload, :headers, :correlation_id, :ordering_key, :unique_key, :now, :due_at, :delay, :expires_at)
