-- lease_release: free what :owner holds; with :fence, that very acquisition.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now
)
UPDATE {lease} AS l
SET owner = NULL, held_until = (SELECT now FROM n)
WHERE l.name = CAST(:name AS text) AND l.owner = CAST(:owner AS text)
  AND l.fence = coalesce(CAST(:fence AS bigint), l.fence) AND l.held_until > (SELECT now FROM n)
RETURNING l.fence
