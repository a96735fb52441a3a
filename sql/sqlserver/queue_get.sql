-- queue_get: one message with its state.
EXEC {queue_Get} @Id = :id
