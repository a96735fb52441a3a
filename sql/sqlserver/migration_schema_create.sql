-- migration_schema_create: the schema itself.
CREATE SCHEMA {schema}
