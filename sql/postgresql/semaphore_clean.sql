-- semaphore_clean: forget up to :batch holders whose time has passed :delay us ago. Their semaphores are locked
-- first, in one order, as by those who take and free slots.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now
),
old AS MATERIALIZED (
    SELECT o.fence, o.name FROM {semaphore_holder} AS o
    WHERE o.held_until <= (SELECT now FROM n) - CAST(:delay AS bigint)
    ORDER BY o.fence LIMIT CAST(:batch AS bigint)
),
locked AS MATERIALIZED (
    SELECT s.name FROM {semaphore} AS s
    WHERE s.name = ANY (ARRAY(SELECT old.name FROM old))
    ORDER BY s.name FOR NO KEY UPDATE
),
gone AS (
    DELETE FROM {semaphore_holder} AS h
    WHERE h.name = ANY (ARRAY(SELECT locked.name FROM locked)) AND h.fence = ANY (ARRAY(SELECT old.fence FROM old))
      AND h.held_until <= (SELECT now FROM n) - CAST(:delay AS bigint)
    RETURNING h.name, h.fence
),
s AS (
    UPDATE {semaphore} AS s SET held = s.held - g.count
    FROM (SELECT gone.name, count(*) AS count FROM gone GROUP BY gone.name) AS g
    WHERE s.name = g.name
)
SELECT gone.fence FROM gone
