-- job_insert: a new job; a trigger numbers it.
INSERT INTO {job} (id, name, topic, payload, expression, zone, options, registrar, absent, disabled, version, next_due_at, created_at)
VALUES (UNHEX(REPLACE(:id, '-', '')), :name, :topic, :payload, :expression, :zone, :options, :registrar, 0, 0, 1, :due_at, COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))))
