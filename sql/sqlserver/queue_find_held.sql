-- queue_find_held: the attempts of claims that @OwnerToken holds, to work out their backoff.
EXEC {queue_FindHeld} @OwnerToken = :owner, @Claims = :claims
