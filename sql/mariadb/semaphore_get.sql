-- semaphore_get: how many hold :name, and when the first of them is over.
SELECT 0, NULL, 0, COALESCE(MIN(h.held_until), 0), n.now, s.slots, COUNT(h.fence)
FROM {semaphore} AS s
CROSS JOIN (SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) AS now) AS n
LEFT JOIN {semaphore_holder} AS h ON h.name = s.name AND h.held_until > n.now
WHERE s.name = :name
GROUP BY n.now, s.slots
