-- migration_create: the journal of migrations.
IF OBJECT_ID(N{text:migration}) IS NULL CREATE TABLE {migration} (number BIGINT NOT NULL PRIMARY KEY, name NVARCHAR(255) NOT NULL, applied_at BIGINT NOT NULL)
