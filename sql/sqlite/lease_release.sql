-- lease_release: free what :owner holds; with :fence, that very acquisition.
UPDATE {lease} SET owner = NULL, held_until = :now
WHERE name = :name AND owner = :owner AND fence = coalesce(:fence, fence) AND held_until > :now
RETURNING +fence
