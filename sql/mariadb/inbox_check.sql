-- inbox_check: note that a message has arrived, as seen if it is new; its id, number, hash and, unless it is new, its state. Waits for a transaction that is storing the same message.
CALL {inbox_check}(:id, :source, :message_id, :consumer, :hash, :hash_algorithm, :now)
