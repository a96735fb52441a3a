-- semaphore_renew: extend what @Owner holds to @Lease us from now; with @Fence, that very slot.
EXEC {Semaphore_Renew} @SemaphoreName = :name, @Owner = :owner, @Lease = :lease, @Fence = :fence, @Now = :now
