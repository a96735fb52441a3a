-- migration_list: what was applied.
IF OBJECT_ID(N{text:migration_List}) IS NULL EXEC (N{body}CREATE PROCEDURE {migration_List} AS RETURN{end});
GO
ALTER PROCEDURE {migration_List}
AS
BEGIN
{settings}
    SELECT number, name FROM {migration} ORDER BY number;
END
