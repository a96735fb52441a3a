-- inbox_enqueue: store a message and its work row unless it is known; its id, number, hash and, unless it is new, its state. Waits for a transaction that is storing the same message.
CALL {inbox_enqueue}(:id, :source, :message_id, :consumer, :topic, :payload, :headers, :correlation_id, :ordering_key, :hash, :hash_algorithm, :now, :due_at, :delay, :expires_at)
