-- queue_renew_free: extend claims to :lease us from now, but wait for none that another transaction has locked: 0
-- tells that one is, and was ours before.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
c AS MATERIALIZED (
    SELECT CAST(j.key AS bigint) AS seq, CAST(j.value AS bigint) AS claim_number
    FROM json_each_text(CAST(CAST(:claims AS text) AS json)) AS j (key, value)
),
free AS MATERIALIZED (
    SELECT w.seq FROM {queue_work} AS w
    WHERE w.seq = ANY (ARRAY(SELECT c.seq FROM c))
    ORDER BY w.seq
    FOR UPDATE SKIP LOCKED
),
renewed AS (
    UPDATE {queue_work} AS w
    SET locked_until = (SELECT now FROM n) + CAST(:lease AS bigint)
    WHERE w.seq = ANY (ARRAY(SELECT free.seq FROM free))
      AND w.status = 1
      AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
      AND (w.seq, w.claim_number) IN (SELECT c.seq, c.claim_number FROM c)
    RETURNING w.seq, w.claim_number
)
SELECT renewed.seq, renewed.claim_number, 1 FROM renewed
UNION ALL
SELECT w.seq, w.claim_number, 0
FROM {queue_work} AS w
WHERE w.seq = ANY (ARRAY(SELECT c.seq FROM c EXCEPT SELECT free.seq FROM free))
  AND w.status = 1
  AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
  AND (w.seq, w.claim_number) IN (SELECT c.seq, c.claim_number FROM c)
