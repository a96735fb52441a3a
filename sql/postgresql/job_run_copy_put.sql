-- queue_copy_put: store a run that comes from another store for the job that has the number :fence here, unless there is one with its id, or one of its occurrence; its number. It is held for the store :owner.
WITH p AS MATERIALIZED (
    SELECT CAST(CAST(:id AS text) AS uuid) AS id, CAST(CAST(:owner AS text) AS uuid) AS peer, CAST(:status AS smallint) AS status,
           CAST(:delay AS bigint) AS occurrence_at
),
m AS (
    INSERT INTO {queue} (id, topic, payload, headers, correlation_id, ordering_key, created_at, due_at, expires_at, job_id, job_name, occurrence_at, options, started_at, cancel_at, output)
    SELECT p.id, CAST(:topic AS text), CAST(:payload AS text), CAST(:headers AS text), CAST(:correlation_id AS text),
           CAST(:ordering_key AS text), CAST(:since AS bigint), CAST(:due_at AS bigint), CAST(:expires_at AS bigint),
           j.id, j.name, p.occurrence_at, CAST(:options AS text), CAST(:max_attempts AS bigint), CAST(:count AS bigint), CAST(:detail AS text)
    FROM p CROSS JOIN {job} AS j
    WHERE j.seq = CAST(:fence AS bigint) AND NOT EXISTS (SELECT 1 FROM {queue} AS o WHERE o.id = p.id)
      AND NOT EXISTS (SELECT 1 FROM {queue} AS k WHERE k.job_id = j.id AND k.occurrence_at = p.occurrence_at)
    RETURNING seq, topic
),
w AS (
    INSERT INTO {queue_work} (seq, topic, status, next_attempt_at, attempt, claim_number, owner_token, locked_until, expires_at, last_error)
    SELECT m.seq, m.topic, 1, CAST(:fired_at AS bigint), CAST(:attempts AS bigint), CAST(:version AS bigint), p.peer,
           CAST(:lease AS bigint), CAST(:until AS bigint), CAST(:reason AS text)
    FROM m CROSS JOIN p
    RETURNING seq
)
INSERT INTO {copy_item} (queue, seq, peer, status, finished_at, finished_by, arrived)
SELECT CAST(:name AS text), w.seq, p.peer, p.status, CAST(:occurrence AS bigint), CAST(:worker AS text), 1 FROM w CROSS JOIN p
RETURNING seq
