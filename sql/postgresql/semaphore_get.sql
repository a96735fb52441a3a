-- semaphore_get: how many hold :name, and when the first of them is over.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now
)
SELECT 0, NULL, 0, coalesce(min(h.held_until), 0), n.now, s.slots, count(h.fence)
FROM {semaphore} AS s CROSS JOIN n
LEFT JOIN {semaphore_holder} AS h ON h.name = s.name AND h.held_until > n.now
WHERE s.name = CAST(:name AS text)
GROUP BY n.now, s.slots
