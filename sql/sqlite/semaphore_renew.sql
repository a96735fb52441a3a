-- semaphore_renew: extend the slot that :owner holds to :lease us from now; with :fence, that very one.
UPDATE {semaphore_holder} SET held_until = :now + :lease, length = :lease
WHERE name = :name AND owner = :owner AND fence = coalesce(:fence, fence) AND held_until > :now
RETURNING 1, +owner, +fence, +held_until, :now, 0, 0
