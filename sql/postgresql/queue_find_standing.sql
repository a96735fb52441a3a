-- queue_find_standing: where the messages of the claims {seq: claim number} stand now, and by which claim.
WITH c AS (
    SELECT DISTINCT CAST(j.key AS bigint) AS seq
    FROM json_each_text(CAST(:claims AS json)) AS j (key, value)
)
SELECT w.seq, w.status, w.claim_number
FROM {queue_work} AS w
WHERE w.seq = ANY (ARRAY(SELECT c.seq FROM c))
UNION ALL
SELECT f.seq, f.status, f.claim_number
FROM {queue_finished} AS f
WHERE f.seq = ANY (ARRAY(SELECT c.seq FROM c))
