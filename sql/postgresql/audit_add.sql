-- audit_add: note who did what.
INSERT INTO {audit} (at, actor, action, queue, subject, detail)
VALUES (coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)), CAST(:worker AS text), CAST(:action AS text), CAST(:source AS text), CAST(:subject AS text), CAST(:detail AS text))
