-- queue_expire: fail waiting messages that are past their expiry.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
old AS (
    SELECT w.seq FROM {queue_work} AS w
    WHERE w.expires_at <= (SELECT now FROM n) AND w.expires_at >= CAST(:since AS bigint) AND w.status <> 1
    ORDER BY w.expires_at, w.seq
    LIMIT CAST(:batch AS bigint)
    FOR UPDATE SKIP LOCKED
),
gone AS (
    DELETE FROM {queue_work} AS w
    WHERE w.seq = ANY (ARRAY(SELECT old.seq FROM old))
    RETURNING w.seq, w.attempt, w.claim_number
)
INSERT INTO {queue_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT gone.seq, 3, gone.attempt, gone.claim_number, n.now, CAST(:worker AS text), CAST(:reason AS text)
FROM gone CROSS JOIN n{again}
RETURNING seq
