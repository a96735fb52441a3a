-- semaphore_release: free the slot that :owner holds; with :fence, that very one.
CALL {semaphore_release}(:name, :owner, :fence, :now)
