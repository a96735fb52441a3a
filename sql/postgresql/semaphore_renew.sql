-- semaphore_renew: extend the slot that :owner holds to :lease us from now; with :fence, that very one.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now
)
UPDATE {semaphore_holder} AS h
SET held_until = (SELECT now FROM n) + CAST(:lease AS bigint)
WHERE h.name = CAST(:name AS text) AND h.owner = CAST(:owner AS text)
  AND h.fence = coalesce(CAST(:fence AS bigint), h.fence) AND h.held_until > (SELECT now FROM n)
RETURNING 1, h.owner, h.fence, h.held_until, (SELECT now FROM n), 0, 0
