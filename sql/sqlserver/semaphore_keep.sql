-- semaphore_keep: extend the slots of @Leases, [[fence, duration in us], ...]. As Lease_Keep.
EXEC {Semaphore_Keep} @Leases = :leases, @Now = :now
