-- lease_acquire: give :name to :owner for :lease us, if it is free, expired or the owner's already; else
-- tell whose it is. The fence and the time are taken anew if the row was changed meanwhile, so that
-- they rise with every acquire. No row: the name has none, see lease_make.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now
),
g AS (
    UPDATE {lease} AS l
    SET owner = CAST(:owner AS text), fence = nextval({text:lease_fence}),
        held_until = CAST(:lease AS bigint) + coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)),
        acquired_at = coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint))
    WHERE l.name = CAST(:name AS text)
      AND (l.held_until <= (SELECT now FROM n) OR l.owner IS NULL OR l.owner = CAST(:owner AS text))
    RETURNING l.owner, l.fence, l.held_until, l.acquired_at
)
SELECT 1, g.owner, g.fence, g.held_until, g.acquired_at, 1, 1 FROM g
UNION ALL
SELECT 0, l.owner, l.fence, l.held_until, n.now, 1, CASE WHEN l.held_until > n.now AND l.owner IS NOT NULL THEN 1 ELSE 0 END
FROM {lease} AS l CROSS JOIN n
WHERE l.name = CAST(:name AS text) AND NOT EXISTS (SELECT 1 FROM g)
