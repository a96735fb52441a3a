-- inbox_once: as inbox_check, to be processed in this transaction. No row: another transaction has it.
CALL {inbox_once}(:id, :source, :message_id, :consumer, :hash, :hash_algorithm, :now)
