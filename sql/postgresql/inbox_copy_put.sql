-- queue_copy_put: store a message that comes from another store, unless its key or its id is known here; its number. It is held for the store :owner.
WITH p AS MATERIALIZED (
    SELECT CAST(CAST(:id AS text) AS uuid) AS id, CAST(CAST(:owner AS text) AS uuid) AS peer, CAST(:status AS smallint) AS status,
           CAST(:source AS text) AS source, CAST(:message_id AS text) AS message_id, CAST(:consumer AS text) AS consumer
),
m AS (
    INSERT INTO {queue} (id, topic, payload, headers, correlation_id, ordering_key, created_at, due_at, expires_at, source, message_id, consumer, hash, hash_algorithm, last_seen_at)
    SELECT p.id, CAST(:topic AS text), CAST(:payload AS text), CAST(:headers AS text), CAST(:correlation_id AS text),
           CAST(:ordering_key AS text), CAST(:since AS bigint), CAST(:due_at AS bigint), CAST(:expires_at AS bigint),
           p.source, p.message_id, p.consumer, CAST(:hash AS text), CAST(:hash_algorithm AS text), CAST(:delay AS bigint)
    FROM p
    WHERE NOT EXISTS (SELECT 1 FROM {queue} AS o WHERE o.id = p.id)
      AND NOT EXISTS (SELECT 1 FROM {queue} AS k
                      WHERE k.source = p.source AND k.message_id = p.message_id AND k.consumer = p.consumer)
    RETURNING seq, topic
),
w AS (
    INSERT INTO {queue_work} (seq, topic, status, next_attempt_at, attempt, claim_number, owner_token, locked_until, expires_at, last_error)
    SELECT m.seq, coalesce(m.topic, ''), 1, CAST(:fired_at AS bigint), CAST(:attempts AS bigint), CAST(:version AS bigint), p.peer,
           CAST(:lease AS bigint), CAST(:until AS bigint), CAST(:reason AS text)
    FROM m CROSS JOIN p
    RETURNING seq
)
INSERT INTO {copy_item} (queue, seq, peer, status, finished_at, finished_by, arrived)
SELECT CAST(:name AS text), w.seq, p.peer, p.status, CAST(:occurrence AS bigint), CAST(:worker AS text), 1 FROM w CROSS JOIN p
RETURNING seq
