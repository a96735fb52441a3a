-- join_wait_hold: claims [join, message, claim number] of :owner go back until their join is over, or for :delay us; where
-- the join is just being changed or was just over, for less.
WITH c AS MATERIALIZED (
    SELECT CAST(j.c ->> 0 AS bigint) AS join_seq, CAST(j.c ->> 1 AS bigint) AS seq, CAST(j.c ->> 2 AS bigint) AS claim_number
    FROM json_array_elements(CAST(CAST(:messages AS text) AS json)) AS j (c)
),
held AS MATERIALIZED (
    SELECT o.seq FROM {join} AS o
    WHERE o.seq = ANY (ARRAY(SELECT c.join_seq FROM c)) AND o.status = 0
    ORDER BY o.seq
    FOR SHARE SKIP LOCKED
),
noted AS (
    INSERT INTO {join_wait} (join_seq, seq)
    SELECT c.join_seq, c.seq FROM c WHERE c.join_seq IN (SELECT held.seq FROM held)
    ON CONFLICT (join_seq, seq) DO NOTHING
)
UPDATE {outbox_work} AS w
SET status = 0, owner_token = NULL, locked_until = NULL,
    next_attempt_at = coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) + CASE WHEN c.join_seq IN (SELECT held.seq FROM held) THEN CAST(:delay AS bigint) ELSE CAST(:lease AS bigint) END
FROM c
WHERE w.seq = c.seq AND w.status = 1 AND w.owner_token = CAST(CAST(:owner AS text) AS uuid) AND w.claim_number = c.claim_number
RETURNING w.seq
