-- migration_record: note one as applied.
INSERT INTO {migration} (number, name, applied_at) VALUES (:number, :name, COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))))
