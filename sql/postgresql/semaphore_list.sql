-- semaphore_list: up to :batch semaphores behind the name :after: when the first holder is over, the limit, how many hold it.
SELECT s.name, NULL, coalesce(min(h.held_until), 0), s.slots, count(h.fence)
FROM (SELECT i.name, i.slots FROM {semaphore} AS i WHERE i.name > CAST(:after AS text) COLLATE "C"
      ORDER BY i.name LIMIT CAST(:batch AS bigint)) AS s
CROSS JOIN (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now) AS n
LEFT JOIN {semaphore_holder} AS h ON h.name = s.name AND h.held_until > n.now
GROUP BY s.name, n.now, s.slots ORDER BY s.name
