-- inbox_hold: the id, number and state of a message, to change it in this transaction. That it is written tells a transaction that began before.
EXEC {inbox_Hold} @Source = :source, @MessageId = :message_id, @Consumer = :consumer
