-- queue_claim: lease up to :batch due messages of the JSON array :topics to :owner for :lease us.
-- Rows before :since are known to be finished or claimed; the index still has dead entries for them.
-- Without an ordering key: the first rows of each topic's queue, as many as it has among the first
-- :batch of all topics. With one: the first unfinished row of each key that has none running; an
-- index keeps a second one from running. 1,000 keys are looked at, those after the key :after first;
-- where there are more, a last row of nulls tells how far this went.
WITH RECURSIVE n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
t AS (
    SELECT j.topic FROM json_array_elements_text(CAST(CAST(:topics AS text) AS json)) AS j (topic)
),
share AS (
    SELECT t.topic, CAST(:batch AS bigint) AS most FROM t WHERE (SELECT count(*) FROM t) = 1
    UNION ALL
    SELECT f.topic, count(*)
    FROM (
        SELECT c.topic
        FROM t CROSS JOIN LATERAL (
            SELECT w.topic, w.next_attempt_at, w.seq FROM {queue_work} AS w
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
        SELECT w.seq, w.next_attempt_at FROM {queue_work} AS w
        WHERE w.status = 0 AND w.ordering_key IS NULL AND w.topic = share.topic
          AND w.next_attempt_at >= CAST(:since AS bigint) AND w.next_attempt_at <= (SELECT now FROM n)
          AND (w.expires_at IS NULL OR w.expires_at > (SELECT now FROM n))
        ORDER BY w.next_attempt_at, w.seq
        LIMIT share.most
        FOR UPDATE SKIP LOCKED) AS c
),
k (ordering_key, lap, place) AS (
    SELECT CAST(:after AS text) COLLATE "C", 0, 0
    UNION ALL
    SELECT s.ordering_key, s.lap, k.place + 1
    FROM k CROSS JOIN LATERAL (
        (SELECT w.ordering_key, k.lap AS lap FROM {queue_work} AS w
         WHERE w.ordering_key > k.ordering_key ORDER BY w.ordering_key LIMIT 1)
        UNION ALL
        (SELECT w.ordering_key, 1 FROM {queue_work} AS w
         WHERE k.lap = 0 AND w.ordering_key IS NOT NULL ORDER BY w.ordering_key LIMIT 1)
        LIMIT 1) AS s
    WHERE k.place < 1000 AND (s.lap = 0 OR s.ordering_key <= CAST(:after AS text))
),
first AS (
    SELECT h.seq
    FROM k CROSS JOIN LATERAL (
        SELECT w.seq, w.status, w.topic, w.next_attempt_at, w.expires_at
        FROM {queue_work} AS w WHERE w.ordering_key = k.ordering_key ORDER BY w.seq LIMIT 1) AS h
    WHERE k.place > 0 AND h.next_attempt_at <= (SELECT now FROM n) AND h.topic IN (SELECT t.topic FROM t)
      AND (h.expires_at IS NULL OR h.expires_at > (SELECT now FROM n))
      AND NOT EXISTS (SELECT 1 FROM {queue_work} AS r WHERE r.ordering_key = k.ordering_key AND r.status = 1)
    ORDER BY h.next_attempt_at, h.seq
    LIMIT CAST(:batch AS bigint)
),
keyed AS (
    SELECT w.seq, w.next_attempt_at FROM {queue_work} AS w
    WHERE w.seq = ANY (ARRAY(SELECT first.seq FROM first)) AND w.status = 0
      -- asked again of a row that was changed meanwhile
      AND w.next_attempt_at <= (SELECT now FROM n) AND w.topic IN (SELECT t.topic FROM t)
      AND (w.expires_at IS NULL OR w.expires_at > (SELECT now FROM n))
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
    UPDATE {queue_work} AS w
    SET status = 1, owner_token = CAST(CAST(:owner AS text) AS uuid),
        locked_until = (SELECT now FROM n) + CAST(:lease AS bigint),
        claim_number = w.claim_number + 1, max_attempts = CAST(:max_attempts AS bigint)
    WHERE w.seq = ANY (ARRAY(SELECT picked.seq FROM picked))
    RETURNING w.seq, w.attempt, w.claim_number, w.next_attempt_at, w.last_error
)
SELECT c.seq, c.attempt, c.claim_number, CAST(m.id AS text), m.topic, m.payload, m.headers, m.correlation_id,
       coalesce(c.after, m.ordering_key), m.created_at, m.due_at, m.expires_at,
       c.last_error, c.next_attempt_at, (SELECT now FROM n){columns}
FROM (SELECT claimed.seq, claimed.attempt, claimed.claim_number, claimed.next_attempt_at, claimed.last_error,
             CAST(NULL AS text) AS after
      FROM claimed
      UNION ALL
      SELECT NULL, NULL, NULL, NULL, NULL, k.ordering_key
      FROM k WHERE k.place = 1000) AS c
LEFT JOIN LATERAL (SELECT o.* FROM {queue} AS o WHERE o.seq = c.seq LIMIT 1) AS m ON true
ORDER BY c.next_attempt_at, c.seq
