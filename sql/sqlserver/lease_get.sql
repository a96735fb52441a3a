-- lease_get: who holds the lease @LeaseName, or held it last.
EXEC {Lease_Get} @LeaseName = :name, @Now = :now
