-- migration_record: note one as applied.
INSERT INTO {migration} (number, name, applied_at)
SELECT :number, :name, COALESCE(:now, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), SYSUTCDATETIME()))
