-- queue_renew_free: extend claims to @Lease us from now, but wait for none that another transaction has locked: 0 tells that one is.
EXEC {queue_RenewFree} @OwnerToken = :owner, @Claims = :claims, @Now = :now, @Lease = :lease
