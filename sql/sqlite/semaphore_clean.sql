-- semaphore_clean: forget up to :batch holders whose time has passed :delay us ago.
DELETE FROM {semaphore_holder}
WHERE fence IN (SELECT h.fence FROM {semaphore_holder} AS h WHERE h.held_until <= :now - :delay LIMIT :batch)
RETURNING +fence
