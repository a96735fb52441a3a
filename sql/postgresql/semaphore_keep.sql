-- semaphore_keep: extend slots; :leases is a JSON object of fences and durations in us. As lease_keep.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now
),
f AS MATERIALIZED (
    SELECT CAST(j.fence AS bigint) AS fence, CAST(j.value AS bigint) AS duration
    FROM json_each_text(CAST(CAST(:leases AS text) AS json)) AS j (fence, value)
),
free AS MATERIALIZED (
    SELECT l.fence FROM {semaphore_holder} AS l
    WHERE l.fence = ANY (ARRAY(SELECT f.fence FROM f))
    FOR UPDATE SKIP LOCKED
),
kept AS (
    UPDATE {semaphore_holder} AS l
    SET held_until = (SELECT now FROM n) + f.duration
    FROM f
    WHERE l.fence = f.fence AND l.fence = ANY (ARRAY(SELECT free.fence FROM free))
    RETURNING l.fence
)
SELECT kept.fence, 1 FROM kept
UNION ALL
SELECT l.fence, 0 FROM {semaphore_holder} AS l
WHERE l.fence = ANY (ARRAY(SELECT f.fence FROM f))
  AND NOT EXISTS (SELECT 1 FROM free WHERE free.fence = l.fence)
