-- lease_clean: forget up to :batch names that nobody has held for :delay us.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now
)
DELETE FROM {lease} AS l
WHERE l.name = ANY (ARRAY(SELECT o.name FROM {lease} AS o
                          WHERE o.held_until <= (SELECT now FROM n) - CAST(:delay AS bigint)
                          ORDER BY o.name LIMIT CAST(:batch AS bigint)))
  AND l.held_until <= (SELECT now FROM n) - CAST(:delay AS bigint)
RETURNING l.fence
