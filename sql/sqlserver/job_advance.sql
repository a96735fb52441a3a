-- job_advance: from the occurrence @Since on to the next, if nobody else has done it.
EXEC {Jobs_Advance} @Number = :number, @Version = :version, @Since = :since, @DueAt = :due_at, @FiredAt = :fired_at
