-- lease_renew: extend what @Owner holds to @Lease us from now; with @Fence, that very acquisition.
EXEC {Lease_Renew} @LeaseName = :name, @Owner = :owner, @Lease = :lease, @Fence = :fence, @Now = :now
