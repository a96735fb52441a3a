-- job_insert: a new job.
EXEC {Jobs_Insert} @Id = :id, @Name = :name, @Topic = :topic, @Payload = :payload, @Expression = :expression, @Zone = :zone, @Options = :options, @Registrar = :registrar, @DueAt = :due_at, @Now = :now
