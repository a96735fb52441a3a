-- migration_create: the journal of migrations.
CREATE TABLE IF NOT EXISTS {migration} (number bigint PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)
