-- semaphore_clean: forget up to :batch holders whose time has passed :delay us ago.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now
),
gone AS (
    DELETE FROM {semaphore_holder} AS h
    WHERE h.fence = ANY (ARRAY(SELECT o.fence FROM {semaphore_holder} AS o
                               WHERE o.held_until <= (SELECT now FROM n) - CAST(:delay AS bigint)
                               ORDER BY o.fence LIMIT CAST(:batch AS bigint)))
      AND h.held_until <= (SELECT now FROM n) - CAST(:delay AS bigint)
    RETURNING h.name, h.fence
),
s AS (
    UPDATE {semaphore} AS s SET held = s.held - g.count
    FROM (SELECT gone.name, count(*) AS count FROM gone GROUP BY gone.name) AS g
    WHERE s.name = g.name
)
SELECT gone.fence FROM gone
