-- semaphore_list: up to :batch semaphores behind the name :after: when the first holder is over, the limit, how many hold it.
SELECT s.name, NULL, coalesce(min(h.held_until), 0), +s.slots, count(h.fence)
FROM {semaphore} AS s LEFT JOIN {semaphore_holder} AS h ON h.name = s.name AND h.held_until > :now
WHERE s.name > :after GROUP BY s.name ORDER BY s.name LIMIT :batch
