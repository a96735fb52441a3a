-- semaphore_settle: those who have :name for longer than was asked for, since the clock was ahead, have it that long from now.
UPDATE {semaphore_holder} SET held_until = :now + length WHERE name = :name AND held_until - length > :now
