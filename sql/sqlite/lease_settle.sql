-- lease_settle: who has :name for longer than was asked for, since the clock was ahead, has it that long from now.
UPDATE {lease} SET held_until = :now + length WHERE name = :name AND held_until - length > :now
