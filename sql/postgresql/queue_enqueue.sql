-- queue_enqueue: store one message and its work row.
WITH m AS (
    INSERT INTO {queue} (id, topic, payload, headers, correlation_id, ordering_key, created_at, due_at, expires_at)
    SELECT CAST(CAST(:id AS text) AS uuid), CAST(:topic AS text), CAST(:payload AS text), CAST(:headers AS text),
           CAST(:correlation_id AS text), CAST(:ordering_key AS text), n.now,
           coalesce(CAST(:due_at AS bigint), n.now + CAST(:delay AS bigint)), CAST(:expires_at AS bigint)
    FROM (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now) AS n
    RETURNING seq, topic, due_at, ordering_key, expires_at
)
INSERT INTO {queue_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key, expires_at)
SELECT m.seq, m.topic, 0, m.due_at, 0, 0, m.ordering_key, m.expires_at FROM m
