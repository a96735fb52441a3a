-- queue_enqueue_unique: store one message unless an unfinished one has its unique key. Waits for a
-- transaction that is storing the same key.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
w AS (
    INSERT INTO {queue_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key, unique_key, expires_at)
    SELECT nextval({text:queue_seq}), CAST(:topic AS text), 0,
           coalesce(CAST(:due_at AS bigint), n.now + CAST(:delay AS bigint)), 0, 0, CAST(:ordering_key AS text),
           CAST(:unique_key AS text), CAST(:expires_at AS bigint)
    FROM n
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO NOTHING
    RETURNING seq, next_attempt_at
)
INSERT INTO {queue} (seq, id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
SELECT w.seq, CAST(CAST(:id AS text) AS uuid), CAST(:topic AS text), CAST(:payload AS text), CAST(:headers AS text),
       CAST(:correlation_id AS text), CAST(:ordering_key AS text), CAST(:unique_key AS text), n.now,
       w.next_attempt_at, CAST(:expires_at AS bigint)
FROM w CROSS JOIN n
RETURNING CAST(id AS text)
