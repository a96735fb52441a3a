-- semaphore_list: up to :batch semaphores behind the name :after: when the first holder is over, the limit, how many hold it.
SELECT s.name, NULL, COALESCE(MIN(h.held_until), 0), s.slots, COUNT(h.fence)
FROM {semaphore} AS s
CROSS JOIN (SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) AS now) AS n
LEFT JOIN {semaphore_holder} AS h ON h.name = s.name AND h.held_until > n.now
WHERE s.name > :after GROUP BY s.name, n.now, s.slots ORDER BY s.name LIMIT :batch
