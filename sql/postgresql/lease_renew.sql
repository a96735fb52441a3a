-- lease_renew: extend what :owner holds to :lease us from now; with :fence, that very acquisition.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now
)
UPDATE {lease} AS l
SET held_until = (SELECT now FROM n) + CAST(:lease AS bigint)
WHERE l.name = CAST(:name AS text) AND l.owner = CAST(:owner AS text)
  AND l.fence = coalesce(CAST(:fence AS bigint), l.fence) AND l.held_until > (SELECT now FROM n)
RETURNING 1, l.owner, l.fence, l.held_until, (SELECT now FROM n), 1, 1
