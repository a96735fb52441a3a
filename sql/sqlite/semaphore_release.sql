-- semaphore_release: free the slot that :owner holds; with :fence, that very one.
DELETE FROM {semaphore_holder}
WHERE name = :name AND owner = :owner AND fence = coalesce(:fence, fence) AND held_until > :now
RETURNING +fence
