-- queue_copy_split: those of them whose ordering key has one that is held by others, or was not taken and is before them. It waits for who is changing one of these.
EXEC {queue_CopySplit} @OwnerToken = :owner, @Queue = :name, @Seqs = :seqs
