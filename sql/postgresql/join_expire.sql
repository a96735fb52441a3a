-- join_expire: fail up to :batch joins that are past their deadline; their status then. One that a transaction
-- has locked is for the next time.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
late AS (
    SELECT o.seq FROM {join} AS o
    WHERE o.status = 0 AND o.deadline_at <= (SELECT now FROM n)
    ORDER BY o.deadline_at
    LIMIT CAST(:batch AS bigint)
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {join} AS j SET status = 2, ended_at = (SELECT now FROM n), reason = CAST(:reason AS text)
WHERE j.seq = ANY (ARRAY(SELECT late.seq FROM late))
RETURNING j.status
