-- migration_schema_create: the schema itself.
CREATE SCHEMA IF NOT EXISTS {schema}
