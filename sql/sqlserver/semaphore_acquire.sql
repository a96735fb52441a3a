-- semaphore_acquire: give a slot of @SemaphoreName to @Owner for @Lease us, if one is free or the owner's already; else tell when the first holder is over. Takes back the slots whose time has passed. No row: there is no such semaphore.
EXEC {Semaphore_Acquire} @SemaphoreName = :name, @Owner = :owner, @Lease = :lease, @Now = :now
