-- lease_get: who holds :name, or held it last.
SELECT 0, +owner, +fence, +held_until, :now, 1, CASE WHEN held_until > :now AND owner IS NOT NULL THEN 1 ELSE 0 END
FROM {lease} WHERE name = :name
