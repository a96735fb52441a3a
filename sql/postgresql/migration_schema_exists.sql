-- migration_schema_exists: whether there is the schema.
SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = CAST(:schema AS text)
