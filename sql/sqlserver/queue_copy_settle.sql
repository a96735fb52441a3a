-- queue_copy_settle: those of @Seqs that the store @OwnerToken holds are done here, and known as such, and not on their way.
EXEC {queue_CopySettle} @OwnerToken = :owner, @Queue = :name, @Seqs = :seqs, @Worker = :worker, @Now = :now
