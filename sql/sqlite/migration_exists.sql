-- migration_exists: whether there is a table of this name.
SELECT count(*) FROM main.sqlite_master WHERE name = :name COLLATE NOCASE
