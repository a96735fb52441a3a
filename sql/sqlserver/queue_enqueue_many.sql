-- queue_enqueue_many: store the messages of the JSON array @Messages, but not those whose unique key an unfinished message has; the ids stored, in the array's order.
EXEC {queue_EnqueueMany} @Messages = :messages, @Now = :now
