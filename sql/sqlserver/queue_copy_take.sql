-- queue_copy_take: hold the messages @Seqs for the store @OwnerToken, those that nobody holds, and note them. Without a running key, which only one may have.
EXEC {queue_CopyTake} @OwnerToken = :owner, @Queue = :name, @Seqs = :seqs
