-- queue_enqueue_many: store the JSON array :messages, but not those whose unique key an unfinished
-- message has; returns the ids stored. Numbers are given in the array's order, rows are written in the
-- order of their unique keys, so that two such statements cannot deadlock.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
m AS MATERIALIZED (
    SELECT nextval({text:queue_seq}) AS seq, CAST(j.id AS uuid) AS id, j.topic, j.payload, j.headers,
           j.correlation_id, j.ordering_key, j.unique_key, n.now, coalesce(j.due_at, n.now + j.delay) AS due_at,
           j.expires_at
    FROM json_to_recordset(CAST(CAST(:messages AS text) AS json)) AS j (
             id text, topic text, payload text, headers text, correlation_id text, ordering_key text,
             unique_key text, due_at bigint, delay bigint, expires_at bigint)
         CROSS JOIN n
),
w AS (
    INSERT INTO {queue_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key, unique_key, expires_at)
    SELECT m.seq, m.topic, 0, m.due_at, 0, 0, m.ordering_key, m.unique_key, m.expires_at
    FROM m
    ORDER BY m.unique_key, m.seq
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO NOTHING
    RETURNING seq
)
INSERT INTO {queue} (seq, id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
SELECT m.seq, m.id, m.topic, m.payload, m.headers, m.correlation_id, m.ordering_key, m.unique_key, m.now, m.due_at,
       m.expires_at
FROM m JOIN w ON w.seq = m.seq
ORDER BY m.seq
RETURNING CAST(id AS text)
