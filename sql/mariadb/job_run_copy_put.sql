-- queue_copy_put: store a run that comes from another store for the job that has the number :fence here, unless there is one with its id, or one of its occurrence; its number.
INSERT INTO {queue} (id, topic, payload, headers, correlation_id, ordering_key, created_at, due_at, expires_at, job_id, job_name, occurrence_at, options, started_at, cancel_at, output)
SELECT UNHEX(REPLACE(:id, '-', '')), :topic, :payload, :headers, :correlation_id, :ordering_key, :since, :due_at, :expires_at,
       j.id, j.name, :delay, :options, :max_attempts, :count, :detail
FROM {job} AS j
WHERE j.seq = :fence
RETURNING seq
