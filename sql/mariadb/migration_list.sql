-- migration_list: what was applied.
SELECT number, name FROM {migration} ORDER BY number
