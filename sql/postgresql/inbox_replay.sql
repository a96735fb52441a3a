-- inbox_replay: make the dead letters of the JSON array :seqs ready again, with no attempts, one after the
-- other in steps of :delay us from the :count-th on, and not before their due times. The messages are written, too:
-- see inbox_hold.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
s AS (
    SELECT CAST(j.seq AS bigint) AS seq, (j.place - 1 + CAST(:count AS bigint)) * CAST(:delay AS bigint) AS later
    FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) WITH ORDINALITY AS j (seq, place)
),
held AS (
    UPDATE {inbox} AS m SET last_seen_at = m.last_seen_at
    WHERE m.seq = ANY (ARRAY(SELECT s.seq FROM s))
)
INSERT INTO {inbox_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key, expires_at, last_error)
SELECT f.seq, m.topic, 0, greatest(n.now + s.later, m.due_at), 0, f.claim_number, m.ordering_key,
       CASE WHEN m.expires_at > n.now THEN m.expires_at END, f.last_error
FROM n CROSS JOIN s
CROSS JOIN LATERAL (SELECT i.* FROM {inbox_finished} AS i WHERE i.seq = s.seq AND i.status = 3 LIMIT 1) AS f
CROSS JOIN LATERAL (SELECT o.* FROM {inbox} AS o WHERE o.seq = s.seq AND o.topic IS NOT NULL LIMIT 1) AS m
ORDER BY f.seq
