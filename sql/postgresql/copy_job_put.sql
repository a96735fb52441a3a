-- copy_job_put: store a job that comes from another store; its number. It is not scheduled.
INSERT INTO {job} (id, name, topic, payload, expression, zone, options, registrar, absent, disabled, version, next_due_at, created_at)
VALUES (CAST(CAST(:id AS text) AS uuid), CAST(:name AS text), CAST(:topic AS text), CAST(:payload AS text), CAST(:expression AS text), CAST(:zone AS text), CAST(:options AS text), CAST(:registrar AS text), CAST(:count AS smallint), CAST(:status AS smallint), 1, NULL, CAST(:since AS bigint))
RETURNING seq
