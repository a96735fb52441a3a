-- job_update: the definition and state of the job @Number, if it is still of this version.
EXEC {Jobs_Update} @Number = :number, @Version = :version, @Topic = :topic, @Payload = :payload, @Expression = :expression, @Zone = :zone, @Options = :options, @Registrar = :registrar, @Absent = :count, @Disabled = :status, @DueAt = :due_at
