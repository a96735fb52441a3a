-- job_run_add: a run of the job :number for the occurrence :occurrence (null: now, by hand), unless it has one. None for a job that arrives from another store.
-- status 1: skipped; 2: skipped if another one with its ordering key is unfinished; 3: or if :batch are.
INSERT INTO {job_run} (seq, id, topic, payload, ordering_key, created_at, due_at, job_id, job_name, occurrence_at, options, skipped)
SELECT (SELECT n.seq FROM {job_run_next} AS n), :id, j.topic, j.payload, :ordering_key, :now, coalesce(:occurrence, :now), j.id, j.name, :occurrence, j.options,
       CASE WHEN :status = 1 THEN :reason
            WHEN :status = 2 AND EXISTS (SELECT 1 FROM {job_run_work} AS w WHERE w.ordering_key = :ordering_key) THEN :reason
            WHEN :status = 3 AND (SELECT count(*) FROM (SELECT 1 FROM {job_run_work} AS w WHERE w.ordering_key = :ordering_key LIMIT :batch) AS q) >= :batch THEN :reason END
FROM {job} AS j
WHERE j.seq = :number AND NOT EXISTS (SELECT 1 FROM {copy_job} AS c WHERE c.job = j.seq AND c.id = j.id AND c.version = j.version AND c.arrived = 1)
ON CONFLICT (job_id, occurrence_at) WHERE occurrence_at IS NOT NULL DO NOTHING
RETURNING CASE WHEN +skipped IS NULL THEN 1 ELSE 0 END
