-- semaphore_acquire: give a slot of :name to :owner for :lease us, if one is free or the owner's already;
-- else tell when the first holder is over. Takes back the slots whose time has passed. All who want a slot
-- change the semaphore's row, one after the other; what counts as the time of it comes after the wait
-- for that. No row: there is no such semaphore.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now
),
gone AS (
    DELETE FROM {semaphore_holder} AS h
    WHERE h.name = CAST(:name AS text)
      AND (h.held_until <= (SELECT now FROM n) OR h.owner = CAST(:owner AS text))
    RETURNING h.owner, h.held_until
),
s AS (
    UPDATE {semaphore} AS s
    SET held = s.held - (SELECT count(*) FROM gone)
               + CASE WHEN s.held - (SELECT count(*) FROM gone) < s.slots
                        OR (SELECT count(*) FROM gone WHERE held_until > (SELECT now FROM n)) > 0 THEN 1 ELSE 0 END,
        granted = CASE WHEN s.held - (SELECT count(*) FROM gone) < s.slots
                         OR (SELECT count(*) FROM gone WHERE held_until > (SELECT now FROM n)) > 0
                       THEN CAST(:owner AS text) END
    WHERE s.name = CAST(:name AS text) AND (s.held < s.slots OR (SELECT count(*) FROM gone) > 0)
    RETURNING s.name, s.slots, s.held, s.granted
),
i AS (
    INSERT INTO {semaphore_holder} (fence, name, owner, held_until, acquired_at)
    SELECT nextval({text:lease_fence}), s.name, s.granted, t.now + CAST(:lease AS bigint), t.now
    FROM s CROSS JOIN LATERAL (
        SELECT s.slots * 0 + coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)) AS now) AS t
    WHERE s.granted IS NOT NULL
    RETURNING owner, fence, held_until, acquired_at
)
SELECT 1, i.owner, i.fence, i.held_until, i.acquired_at, s.slots, s.held FROM i CROSS JOIN s
UNION ALL
SELECT 0, NULL, 0, coalesce(min(h.held_until), 0), n.now, s.slots, count(h.fence)
FROM {semaphore} AS s CROSS JOIN n
LEFT JOIN {semaphore_holder} AS h ON h.name = s.name AND h.held_until > n.now
WHERE s.name = CAST(:name AS text) AND NOT EXISTS (SELECT 1 FROM i)
GROUP BY n.now, s.slots
