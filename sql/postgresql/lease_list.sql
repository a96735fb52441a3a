-- lease_list: up to :batch leases behind the name :after: whose they are or were, until when, 1, how many hold it.
SELECT l.name, l.owner, l.held_until, 1, CASE WHEN l.held_until > n.now AND l.owner IS NOT NULL THEN 1 ELSE 0 END
FROM {lease} AS l CROSS JOIN (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now) AS n
WHERE l.name > CAST(:after AS text) COLLATE "C" ORDER BY l.name LIMIT CAST(:batch AS bigint)
