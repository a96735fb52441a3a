-- queue_copy_held: those of @Seqs that are held for the store @OwnerToken; nobody else can change that now.
EXEC {queue_CopyHeld} @OwnerToken = :owner, @Queue = :name, @Seqs = :seqs
