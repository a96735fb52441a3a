-- job_insert: a new job.
INSERT INTO {job} (id, name, topic, payload, expression, zone, options, registrar, absent, disabled, version, next_due_at, created_at)
VALUES (CAST(CAST(:id AS text) AS uuid), CAST(:name AS text), CAST(:topic AS text), CAST(:payload AS text), CAST(:expression AS text),
        CAST(:zone AS text), CAST(:options AS text), CAST(:registrar AS text), 0, 0, 1, CAST(:due_at AS bigint), coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)))
