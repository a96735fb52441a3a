-- queue_copy_read: all that is known of those with the numbers @Seqs that are held.
EXEC {queue_CopyRead} @OwnerToken = :owner, @Queue = :name, @Seqs = :seqs
