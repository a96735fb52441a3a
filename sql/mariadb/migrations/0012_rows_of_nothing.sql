-- 0012_rows_of_nothing: procedures return rows of their variables without a table, and move a job on by one statement. They are made anew with each migration. No table changes.

SET @waypost_migration = NULL;
