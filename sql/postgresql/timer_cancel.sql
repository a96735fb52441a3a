-- timer_cancel: end a timer that was never claimed, as cancelled.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
gone AS (
    DELETE FROM {timer_work} AS w
    WHERE w.seq = (SELECT m.seq FROM {timer} AS m WHERE m.id = CAST(CAST(:id AS text) AS uuid))
      AND w.status <> 1 AND w.attempt = 0
    RETURNING w.seq, w.claim_number
)
INSERT INTO {timer_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT gone.seq, CAST(:status AS smallint), 0, gone.claim_number, n.now, NULL, NULL
FROM gone CROSS JOIN n
RETURNING seq
