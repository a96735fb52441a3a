-- migration_exists: whether there is a table of this name.
SELECT count(*)
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS s ON s.oid = c.relnamespace
WHERE s.nspname = CAST(:schema AS text) AND c.relname = CAST(:name AS text)
