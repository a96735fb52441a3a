-- outbox_claim: lease up to :batch due messages of the JSON array :topics to :owner for :lease us.
-- Rows before :since are known to be finished or claimed; the index still has dead entries for them.
-- Without an ordering key: the first rows of each topic's queue, as many as it has among the first
-- :batch of all topics. With one: the first unfinished row of each key that has none running; an
-- index keeps a second one from running.
WITH RECURSIVE n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
t AS (
    SELECT j.topic FROM json_array_elements_text(CAST(:topics AS json)) AS j (topic)
),
share AS (
    SELECT t.topic, CAST(:batch AS bigint) AS most FROM t WHERE (SELECT count(*) FROM t) = 1
    UNION ALL
    SELECT f.topic, count(*)
    FROM (
        SELECT c.topic
        FROM t CROSS JOIN LATERAL (
            SELECT w.topic, w.next_attempt_at, w.seq FROM {outbox_work} AS w
            WHERE w.status = 0 AND w.ordering_key IS NULL AND w.topic = t.topic
              AND w.next_attempt_at >= CAST(:since AS bigint) AND w.next_attempt_at <= (SELECT now FROM n)
              AND (w.expires_at IS NULL OR w.expires_at > (SELECT now FROM n))
            ORDER BY w.next_attempt_at, w.seq
            LIMIT CAST(:batch AS bigint)) AS c
        WHERE (SELECT count(*) FROM t) > 1
        ORDER BY c.next_attempt_at, c.seq
        LIMIT CAST(:batch AS bigint)) AS f
    GROUP BY f.topic
),
plain AS (
    SELECT c.seq, c.next_attempt_at
    FROM share CROSS JOIN LATERAL (
        SELECT w.seq, w.next_attempt_at FROM {outbox_work} AS w
        WHERE w.status = 0 AND w.ordering_key IS NULL AND w.topic = share.topic
          AND w.next_attempt_at >= CAST(:since AS bigint) AND w.next_attempt_at <= (SELECT now FROM n)
          AND (w.expires_at IS NULL OR w.expires_at > (SELECT now FROM n))
        ORDER BY w.next_attempt_at, w.seq
        LIMIT share.most
        FOR UPDATE SKIP LOCKED) AS c
),
first AS (
    SELECT h.seq FROM {outbox_heads} AS h
    WHERE h.next_attempt_at <= (SELECT now FROM n) AND h.topic IN (SELECT t.topic FROM t)
      AND (h.expires_at IS NULL OR h.expires_at > (SELECT now FROM n))
    ORDER BY h.next_attempt_at, h.seq
    LIMIT CAST(:batch AS bigint)
),
keyed AS (
    SELECT w.seq, w.next_attempt_at FROM {outbox_work} AS w
    WHERE w.seq = ANY (ARRAY(SELECT first.seq FROM first)) AND w.status = 0
    FOR UPDATE SKIP LOCKED
),
picked AS (
    SELECT p.seq
    FROM (SELECT plain.seq, plain.next_attempt_at FROM plain
          UNION ALL
          SELECT keyed.seq, keyed.next_attempt_at FROM keyed) AS p
    ORDER BY p.next_attempt_at, p.seq
    LIMIT CAST(:batch AS bigint)
),
claimed AS (
    UPDATE {outbox_work} AS w
    SET status = 1, owner_token = CAST(CAST(:owner AS text) AS uuid),
        locked_until = (SELECT now FROM n) + CAST(:lease AS bigint),
        claim_number = w.claim_number + 1, max_attempts = CAST(:max_attempts AS bigint)
    WHERE w.seq = ANY (ARRAY(SELECT picked.seq FROM picked))
    RETURNING w.seq, w.attempt, w.claim_number, w.next_attempt_at
)
SELECT c.seq, c.attempt, c.claim_number, CAST(m.id AS text), m.topic, m.payload, m.headers, m.correlation_id,
       m.ordering_key, m.created_at, m.due_at, m.expires_at, c.next_attempt_at, (SELECT now FROM n)
FROM claimed AS c CROSS JOIN LATERAL (SELECT o.* FROM {outbox} AS o WHERE o.seq = c.seq LIMIT 1) AS m
ORDER BY c.next_attempt_at, c.seq
