-- join_start: start a join, with what is to be enqueued at its end in the JSON array @Messages.
EXEC {Join_Start} @Id = :id, @Expected = :number, @FailIfAny = :status, @GroupingKey = :name, @Metadata = :payload, @DeadlineAt = :expires_at, @Delay = :delay, @Messages = :messages, @Now = :now
