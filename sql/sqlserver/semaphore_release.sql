-- semaphore_release: free the slot that @Owner holds; with @Fence, that very one.
EXEC {Semaphore_Release} @SemaphoreName = :name, @Owner = :owner, @Fence = :fence, @Now = :now
