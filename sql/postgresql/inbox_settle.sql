-- inbox_settle: the message :number is done or dead, whoever has claimed it; no row: it is done already.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
gone AS (
    DELETE FROM {inbox_work} AS w WHERE w.seq = CAST(:number AS bigint)
    RETURNING w.attempt, w.claim_number, w.last_error
)
INSERT INTO {inbox_finished} AS f (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT CAST(:number AS bigint), CAST(:status AS smallint), coalesce(gone.attempt, 0), coalesce(gone.claim_number, 0), n.now,
       CAST(:worker AS text), coalesce(CAST(:reason AS text), gone.last_error)
FROM n LEFT JOIN gone ON true
ON CONFLICT (seq) DO UPDATE
SET status = excluded.status, finished_at = excluded.finished_at, finished_by = excluded.finished_by,
    last_error = coalesce(excluded.last_error, f.last_error)
WHERE f.status = 3
RETURNING seq
