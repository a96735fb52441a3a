-- lease_get: who holds :name, or held it last.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now
)
SELECT 0, l.owner, l.fence, l.held_until, n.now, 1, CASE WHEN l.held_until > n.now AND l.owner IS NOT NULL THEN 1 ELSE 0 END
FROM {lease} AS l CROSS JOIN n
WHERE l.name = CAST(:name AS text)
