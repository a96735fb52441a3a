-- queue_find_owned: the claims that are @OwnerToken's.
EXEC {queue_FindOwned} @OwnerToken = :owner
