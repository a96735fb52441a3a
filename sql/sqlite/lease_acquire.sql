-- lease_acquire: give :name to :owner for :lease us, if it is free, expired or the owner's already.
INSERT OR REPLACE INTO {lease} (name, owner, held_until, acquired_at, length)
SELECT :name, :owner, :now + :lease, :now, :lease
WHERE NOT EXISTS (SELECT 1 FROM {lease} AS l WHERE l.name = :name AND l.held_until > :now AND l.owner <> :owner)
RETURNING 1, +owner, +fence, +held_until, +acquired_at, 1, 1
