-- migration_create: the journal of migrations.
CREATE TABLE IF NOT EXISTS {migration} (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL)
