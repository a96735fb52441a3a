-- queue_copy_free: nobody holds those of @Seqs any more that the store @OwnerToken held: they are work, or dead letters, as ever, and not on their way.
EXEC {queue_CopyFree} @OwnerToken = :owner, @Queue = :name, @Seqs = :seqs
