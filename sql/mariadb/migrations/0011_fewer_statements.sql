-- 0011_fewer_statements: the procedures of checks and acquires, which are made anew with each migration, have fewer statements. No table changes.

SET @waypost_migration = NULL;
