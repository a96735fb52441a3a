-- migration_schema_exists: whether there is the schema.
SELECT COUNT(*) FROM sys.schemas AS s WHERE s.name = CAST(:schema AS NVARCHAR(128))
