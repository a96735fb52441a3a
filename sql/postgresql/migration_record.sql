-- migration_record: note one as applied.
INSERT INTO {migration} (number, name, applied_at)
VALUES (CAST(:number AS bigint), CAST(:name AS text), coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)))
