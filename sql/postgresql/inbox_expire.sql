-- inbox_expire: fail waiting messages that are past their expiry. One that counts
-- as finished already, as an older library left it, is ended anyway.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
old AS (
    SELECT w.seq FROM {inbox_work} AS w
    WHERE w.expires_at <= (SELECT now FROM n) AND w.expires_at >= CAST(:since AS bigint) AND w.status <> 1
    ORDER BY w.expires_at, w.seq
    LIMIT CAST(:batch AS bigint)
    FOR UPDATE SKIP LOCKED
),
gone AS (
    DELETE FROM {inbox_work} AS w
    WHERE w.seq = ANY (ARRAY(SELECT old.seq FROM old))
    RETURNING w.seq, w.attempt, w.claim_number
)
INSERT INTO {inbox_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT gone.seq, 3, gone.attempt, gone.claim_number, n.now, CAST(:worker AS text), CAST(:reason AS text)
FROM gone CROSS JOIN n
ON CONFLICT (seq) DO UPDATE
SET status = excluded.status, attempt = excluded.attempt, claim_number = excluded.claim_number,
    finished_at = excluded.finished_at, finished_by = excluded.finished_by, last_error = excluded.last_error
RETURNING seq
