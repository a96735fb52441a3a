-- inbox_once: as inbox_check, to be processed in this transaction. No row: another transaction has it.
EXEC {inbox_Once} @Id = :id, @Source = :source, @MessageId = :message_id, @Consumer = :consumer, @Hash = :hash, @HashAlgorithm = :hash_algorithm, @Now = :now
