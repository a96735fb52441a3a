-- semaphore_expire: take the slots of :name back whose time has passed.
DELETE FROM {semaphore_holder} WHERE name = :name AND held_until <= :now
