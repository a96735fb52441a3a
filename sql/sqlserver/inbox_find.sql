-- inbox_find: the id, number and state of a message.
EXEC {inbox_Find} @Source = :source, @MessageId = :message_id, @Consumer = :consumer
