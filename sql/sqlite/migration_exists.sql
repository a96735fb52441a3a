-- migration_exists: whether there is a table of this name.
SELECT count(*) FROM pragma_table_info(:name)
