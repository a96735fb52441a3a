-- semaphore_release: free the slot that :owner holds; with :fence, that very one.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now
),
gone AS (
    DELETE FROM {semaphore_holder} AS h
    WHERE h.name = CAST(:name AS text) AND h.owner = CAST(:owner AS text)
      AND h.fence = coalesce(CAST(:fence AS bigint), h.fence) AND h.held_until > (SELECT now FROM n)
    RETURNING h.fence
),
s AS (
    UPDATE {semaphore} AS s SET held = s.held - (SELECT count(*) FROM gone)
    WHERE s.name = CAST(:name AS text) AND (SELECT count(*) FROM gone) > 0
)
SELECT gone.fence FROM gone
