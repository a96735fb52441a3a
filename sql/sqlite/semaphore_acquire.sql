-- semaphore_acquire: give a slot of :name to :owner for :lease us, if one is free or the owner's already.
INSERT OR REPLACE INTO {semaphore_holder} (name, owner, held_until, acquired_at, length)
SELECT s.name, :owner, :now + :lease, :now, :lease
FROM {semaphore} AS s
WHERE s.name = :name
  AND (s.slots > (SELECT count(*) FROM {semaphore_holder} AS h WHERE h.name = :name)
       OR EXISTS (SELECT 1 FROM {semaphore_holder} AS h WHERE h.name = :name AND h.owner = :owner))
RETURNING 1, +owner, +fence, +held_until, +acquired_at,
    (SELECT +s.slots FROM {semaphore} AS s WHERE s.name = :name),
    (SELECT count(*) FROM {semaphore_holder} AS h WHERE h.name = :name)
