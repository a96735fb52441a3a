-- queue_claim: lease up to @BatchSize due messages to @OwnerToken: their ids, or with @Whole whole messages. @Topics: a JSON array; null: any. @Lease is in microseconds.
EXEC {queue_Claim} @OwnerToken = :owner, @BatchSize = :batch, @Topics = :topics, @Now = :now, @Since = :since, @After = :after, @Lease = :lease, @MaxAttempts = :max_attempts, @Whole = 1
