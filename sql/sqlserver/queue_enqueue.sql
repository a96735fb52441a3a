-- queue_enqueue: store one message.
EXEC {queue_Enqueue} @Topic = :topic, @Payload = :payload, @Headers = :headers, @CorrelationId = :correlation_id, @OrderingKey = :ordering_key, @DueAt = :due_at, @Delay = :delay, @ExpiresAt = :expires_at, @Id = :id, @Now = :now
