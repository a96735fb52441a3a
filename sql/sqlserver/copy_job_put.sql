-- copy_job_put: store a job that comes from another store; its number. It is not scheduled.
EXEC {CopyJob_Put} @Id = :id, @Name = :name, @Topic = :topic, @Payload = :payload, @Expression = :expression, @Zone = :zone, @Options = :options, @Registrar = :registrar, @Absent = :count, @Disabled = :status, @CreatedAt = :since
