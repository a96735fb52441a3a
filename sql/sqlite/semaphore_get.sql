-- semaphore_get: how many hold :name, and when the first of them is over.
SELECT 0, NULL, 0, coalesce(min(h.held_until), 0), :now, +s.slots, count(h.fence)
FROM {semaphore} AS s LEFT JOIN {semaphore_holder} AS h ON h.name = s.name AND h.held_until > :now
WHERE s.name = :name GROUP BY s.name
