-- inbox_copy_remember: store a message that was done elsewhere, unless its key or its id is known here; its number.
WITH p AS MATERIALIZED (
    SELECT CAST(CAST(:id AS text) AS uuid) AS id, CAST(:source AS text) AS source, CAST(:message_id AS text) AS message_id,
           CAST(:consumer AS text) AS consumer
),
m AS (
    INSERT INTO {inbox} (id, topic, payload, headers, correlation_id, ordering_key, created_at, due_at, expires_at, source, message_id, consumer, hash, hash_algorithm, last_seen_at)
    SELECT p.id, CAST(:topic AS text), CAST(:payload AS text), CAST(:headers AS text), CAST(:correlation_id AS text),
           CAST(:ordering_key AS text), CAST(:since AS bigint), CAST(:due_at AS bigint), CAST(:expires_at AS bigint),
           p.source, p.message_id, p.consumer, CAST(:hash AS text), CAST(:hash_algorithm AS text), CAST(:delay AS bigint)
    FROM p
    WHERE NOT EXISTS (SELECT 1 FROM {inbox} AS o WHERE o.id = p.id)
      AND NOT EXISTS (SELECT 1 FROM {inbox} AS k
                      WHERE k.source = p.source AND k.message_id = p.message_id AND k.consumer = p.consumer)
    RETURNING seq
)
INSERT INTO {inbox_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT m.seq, 2, CAST(:attempts AS bigint), CAST(:version AS bigint), CAST(:occurrence AS bigint), CAST(:worker AS text), CAST(:reason AS text)
FROM m
RETURNING seq
