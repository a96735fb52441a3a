-- migration_record: note one as applied.
INSERT INTO {migration} (number, name, applied_at) VALUES (:number, :name, :now)
