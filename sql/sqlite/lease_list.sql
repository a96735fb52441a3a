-- lease_list: up to :batch leases behind the name :after: whose they are or were, until when, 1, how many hold it.
SELECT name, owner, held_until, 1, CASE WHEN held_until > :now AND owner IS NOT NULL THEN 1 ELSE 0 END
FROM {lease} WHERE name > :after ORDER BY name LIMIT :batch
