-- migration_list: what was applied; by a procedure that is made with the first, for who may not read the journal.
IF OBJECT_ID(N{text:migration_List}) IS NOT NULL EXEC {migration_List} ELSE SELECT number, name FROM {migration} ORDER BY number
