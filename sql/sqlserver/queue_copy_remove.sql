-- queue_copy_remove: those of @Seqs that the store @OwnerToken holds go, and are not on their way.
EXEC {queue_CopyRemove} @OwnerToken = :owner, @Queue = :name, @Seqs = :seqs
