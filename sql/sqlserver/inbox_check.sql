-- inbox_check: note that a message has arrived, as seen if it is new; its id, number, hash and, unless it is new, its state. Waits for a transaction that is storing the same message.
EXEC {inbox_Check} @Id = :id, @Source = :source, @MessageId = :message_id, @Consumer = :consumer, @Hash = :hash, @HashAlgorithm = :hash_algorithm, @Now = :now
