-- migration_exists: whether there is a table of this name.
SELECT COUNT(*) FROM information_schema.tables AS t
WHERE t.table_schema = DATABASE() AND t.table_name = :name AND HEX(t.table_name) = HEX(:name)
