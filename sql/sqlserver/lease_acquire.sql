-- lease_acquire: give the lease @LeaseName to @Owner for @Lease us, if it is free, expired or the owner's already; else tell whose it is.
EXEC {Lease_Acquire} @LeaseName = :name, @Owner = :owner, @Lease = :lease, @Now = :now
