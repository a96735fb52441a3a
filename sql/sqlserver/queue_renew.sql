-- queue_renew: extend claims to @Lease us from now.
EXEC {queue_Renew} @OwnerToken = :owner, @Claims = :claims, @Now = :now, @Lease = :lease
