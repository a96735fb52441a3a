-- semaphore_set: make the semaphore @SemaphoreName, or change how many may hold it.
EXEC {Semaphore_Set} @SemaphoreName = :name, @Slots = :slots
