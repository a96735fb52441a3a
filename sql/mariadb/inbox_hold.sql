-- inbox_hold: the id, number and state of a message, to change it in this transaction.
CALL {inbox_hold}(:source, :message_id, :consumer)
