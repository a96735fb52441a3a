-- job_insert: a new job.
INSERT INTO {job} (id, name, topic, payload, expression, zone, options, registrar, absent, disabled, version, next_due_at, created_at)
VALUES (:id, :name, :topic, :payload, :expression, :zone, :options, :registrar, 0, 0, 1, :due_at, :now)
