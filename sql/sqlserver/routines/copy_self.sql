-- copy_self: the id of this store, if it has one yet.
IF OBJECT_ID(N{text:CopySelf_Get}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopySelf_Get} AS RETURN{end});
GO
ALTER PROCEDURE {CopySelf_Get}
AS
BEGIN
{settings}
    SELECT CONVERT(CHAR(36), c.Id) FROM {CopySelf} AS c WHERE c.One = 1;
END
