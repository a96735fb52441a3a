-- semaphore_keep: extend slots; :leases are [[fence, duration in us], ...]. As lease_keep.
CALL {semaphore_keep}(:leases, :now)
