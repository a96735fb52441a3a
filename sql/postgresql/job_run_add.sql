-- job_run_add: a run of the job :number for the occurrence :occurrence (null: now, by hand), unless it has one. None for a job that arrives from another store. The job cannot be deleted meanwhile.
-- status 1: skipped; 2: skipped if another one with its ordering key is unfinished; 3: or if :batch are.
WITH n AS (
    SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
),
r AS (
    INSERT INTO {job_run} (id, topic, payload, ordering_key, created_at, due_at, job_id, job_name, occurrence_at, options, skipped)
    SELECT CAST(CAST(:id AS text) AS uuid), j.topic, j.payload, CAST(:ordering_key AS text), n.now,
           coalesce(CAST(:occurrence AS bigint), n.now), j.id, j.name, CAST(:occurrence AS bigint), j.options,
           CASE WHEN CAST(:status AS bigint) = 1 THEN CAST(:reason AS text)
                WHEN CAST(:status AS bigint) = 2 AND EXISTS (
                    SELECT 1 FROM {job_run_work} AS w WHERE w.ordering_key = CAST(:ordering_key AS text)) THEN CAST(:reason AS text)
                WHEN CAST(:status AS bigint) = 3 AND (
                    SELECT count(*) FROM (SELECT 1 FROM {job_run_work} AS w WHERE w.ordering_key = CAST(:ordering_key AS text)
                                          LIMIT CAST(:batch AS bigint)) AS q) >= CAST(:batch AS bigint) THEN CAST(:reason AS text) END
    FROM {job} AS j CROSS JOIN n
    WHERE j.seq = CAST(:number AS bigint)
      AND NOT EXISTS (SELECT 1 FROM {copy_job} AS c WHERE c.job = j.seq AND c.id = j.id AND c.version = j.version AND c.arrived = 1)
    FOR KEY SHARE OF j
    ON CONFLICT (job_id, occurrence_at) WHERE occurrence_at IS NOT NULL DO NOTHING
    RETURNING seq, topic, ordering_key, created_at, due_at, skipped
),
w AS (
    INSERT INTO {job_run_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key)
    SELECT r.seq, r.topic, 0, greatest(r.due_at, r.created_at), 0, 0, r.ordering_key FROM r WHERE r.skipped IS NULL
),
f AS (
    INSERT INTO {job_run_finished} (seq, status, attempt, claim_number, finished_at, last_error)
    SELECT r.seq, 7, 0, 0, r.created_at, r.skipped FROM r WHERE r.skipped IS NOT NULL
)
SELECT CASE WHEN r.skipped IS NULL THEN 1 ELSE 0 END FROM r
