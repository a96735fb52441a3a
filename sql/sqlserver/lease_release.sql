-- lease_release: free what @Owner holds; with @Fence, that very acquisition.
EXEC {Lease_Release} @LeaseName = :name, @Owner = :owner, @Fence = :fence, @Now = :now
