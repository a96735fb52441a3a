-- semaphore_clean: forget up to @BatchSize holders whose time has passed @Delay us ago. What others have locked stays.
EXEC {Semaphore_Clean} @Delay = :delay, @BatchSize = :batch, @Now = :now
