-- semaphore_get: how many hold the semaphore @SemaphoreName, and when the first of them is over.
EXEC {Semaphore_Get} @SemaphoreName = :name, @Now = :now
