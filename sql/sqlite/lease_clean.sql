-- lease_clean: forget up to :batch names that nobody has held for :delay us.
DELETE FROM {lease} WHERE fence IN (SELECT l.fence FROM {lease} AS l WHERE l.held_until <= :now - :delay LIMIT :batch)
RETURNING +fence
