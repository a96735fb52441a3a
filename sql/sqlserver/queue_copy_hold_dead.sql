-- queue_copy_hold_dead: hold the dead letters @Seqs for the store @OwnerToken, as if they were being worked on, and note them with what they do not hold then.
EXEC {queue_CopyHoldDead} @OwnerToken = :owner, @Queue = :name, @Seqs = :seqs
