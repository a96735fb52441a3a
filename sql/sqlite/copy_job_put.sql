-- copy_job_put: store a job that comes from another store; its number. It is not scheduled.
INSERT INTO {job} (id, name, topic, payload, expression, zone, options, registrar, absent, disabled, version, next_due_at, created_at)
VALUES (:id, :name, :topic, :payload, :expression, :zone, :options, :registrar, :count, :status, 1, NULL, :since)
RETURNING +seq
