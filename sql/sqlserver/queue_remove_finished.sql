-- queue_remove_finished: the finished messages of the JSON array @Seqs go: with @Status 3 dead letters, else the others; which did.
EXEC {queue_RemoveFinished} @Seqs = :seqs, @Status = :status
