-- semaphore_acquire: give a slot of :name to :owner for :lease us, if one is free or the owner's already; else tell when the first holder is over. Takes back the slots whose time has passed. No row: there is no such semaphore.
CALL {semaphore_acquire}(:name, :owner, :lease, :now)
