-- job_due: jobs that are due, the longest first, behind the one of @Since and @Number.
EXEC {Jobs_Due} @Since = :since, @Number = :number, @BatchSize = :batch, @Now = :now
