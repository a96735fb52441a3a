-- join_remove: up to :batch joins that were over at least :lease us ago go, with all that is known of them.
WITH old AS (
    SELECT o.seq FROM {join} AS o
    WHERE o.ended_at <= coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) - CAST(:lease AS bigint)
    ORDER BY o.ended_at
    LIMIT CAST(:batch AS bigint)
    FOR UPDATE SKIP LOCKED
)
DELETE FROM {join} AS j
WHERE j.seq = ANY (ARRAY(SELECT old.seq FROM old))
RETURNING j.seq
