-- migration_exists: whether there is a journal of migrations.
SELECT count(*) FROM pragma_table_info(:name)
