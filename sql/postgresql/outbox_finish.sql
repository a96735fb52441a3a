-- outbox_finish: end the claims {seq: claim number or null} that :owner holds, as done or failed.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
c AS (
    SELECT CAST(j.key AS bigint) AS seq, CAST(j.value AS bigint) AS claim_number
    FROM json_each_text(CAST(CAST(:claims AS text) AS json)) AS j (key, value)
),
gone AS (
    DELETE FROM {outbox_work} AS w
    USING c
    WHERE w.seq = ANY (ARRAY(SELECT c.seq FROM c)) AND w.seq = c.seq AND w.status = 1
      AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
      AND (c.claim_number IS NULL OR c.claim_number = w.claim_number)
    RETURNING w.seq, w.attempt, w.claim_number, w.last_error
)
INSERT INTO {outbox_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT gone.seq, CAST(:status AS smallint), gone.attempt + CAST(:attempts AS bigint), gone.claim_number, n.now,
       CAST(:worker AS text), coalesce(CAST(:reason AS text), gone.last_error)
FROM gone CROSS JOIN n
RETURNING seq, claim_number
