-- queue_copy_put: store a message that comes from another store, unless there is one with its id or an unfinished one with its unique key; its number. A dead letter has no claim to its unique key. It is held for the store :owner.
WITH p AS MATERIALIZED (
    SELECT CAST(CAST(:id AS text) AS uuid) AS id, CAST(CAST(:owner AS text) AS uuid) AS peer, CAST(:status AS smallint) AS status,
           CAST(:unique_key AS text) AS unique_key
),
m AS (
    INSERT INTO {queue} (id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
    SELECT p.id, CAST(:topic AS text), CAST(:payload AS text), CAST(:headers AS text), CAST(:correlation_id AS text),
           CAST(:ordering_key AS text), p.unique_key, CAST(:since AS bigint), CAST(:due_at AS bigint), CAST(:expires_at AS bigint)
    FROM p
    WHERE NOT EXISTS (SELECT 1 FROM {queue} AS o WHERE o.id = p.id)
      AND NOT EXISTS (SELECT 1 FROM {queue_work} AS u WHERE u.unique_key = p.unique_key AND p.status = 0)
    RETURNING seq, topic
),
w AS (
    INSERT INTO {queue_work} (seq, topic, status, next_attempt_at, attempt, claim_number, owner_token, locked_until, unique_key, expires_at, last_error)
    SELECT m.seq, m.topic, 1, CAST(:fired_at AS bigint), CAST(:attempts AS bigint), CAST(:version AS bigint), p.peer,
           CAST(:lease AS bigint), CASE WHEN p.status = 0 THEN p.unique_key END, CAST(:until AS bigint), CAST(:reason AS text)
    FROM m CROSS JOIN p
    RETURNING seq
)
INSERT INTO {copy_item} (queue, seq, peer, status, finished_at, finished_by, arrived)
SELECT CAST(:name AS text), w.seq, p.peer, p.status, CAST(:occurrence AS bigint), CAST(:worker AS text), 1 FROM w CROSS JOIN p
RETURNING seq
