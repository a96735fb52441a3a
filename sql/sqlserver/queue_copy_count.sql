-- queue_copy_count: how many may be moved to the store @OwnerToken, are held (also for another store), are dead, and are on their way: unfinished and dead ones.
EXEC {queue_CopyCount} @OwnerToken = :owner, @Queue = :name
