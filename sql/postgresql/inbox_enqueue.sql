-- inbox_enqueue: store a message and its work row unless it is known; its id, number, hash and, unless it
-- is new, its state. Waits for a transaction that is storing the same message.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
m AS (
    INSERT INTO {inbox} AS i (id, source, message_id, consumer, topic, payload, headers, correlation_id, ordering_key,
                              hash, hash_algorithm, created_at, last_seen_at, due_at, expires_at)
    SELECT CAST(CAST(:id AS text) AS uuid), CAST(:source AS text), CAST(:message_id AS text), CAST(:consumer AS text),
           CAST(:topic AS text), CAST(:payload AS text), CAST(:headers AS text), CAST(:correlation_id AS text),
           CAST(:ordering_key AS text), CAST(:hash AS text), CAST(:hash_algorithm AS text), n.now, n.now,
           coalesce(CAST(:due_at AS bigint), n.now + CAST(:delay AS bigint)), CAST(:expires_at AS bigint)
    FROM n
    ON CONFLICT (source, message_id, consumer) DO UPDATE
    SET last_seen_at = excluded.last_seen_at
    RETURNING id, seq, topic, due_at, ordering_key, expires_at, hash, hash_algorithm,
              i.xmax = 0 AS is_new
),
w AS (
    INSERT INTO {inbox_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key, expires_at)
    SELECT m.seq, m.topic, 0, m.due_at, 0, 0, m.ordering_key, m.expires_at FROM m WHERE m.is_new
)
SELECT CAST(m.id AS text), m.seq, m.hash, m.hash_algorithm, CASE WHEN m.id <> CAST(CAST(:id AS text) AS uuid) THEN {inbox_state}(m.seq) END FROM m
