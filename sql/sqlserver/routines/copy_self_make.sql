-- copy_self_make: give this store an id, if it has none yet.
IF OBJECT_ID(N{text:CopySelf_Make}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopySelf_Make} AS RETURN{end});
GO
ALTER PROCEDURE {CopySelf_Make}
    @Id UNIQUEIDENTIFIER
AS
BEGIN
{settings}
    BEGIN TRY
        INSERT INTO {CopySelf} (One, Id)
        SELECT 1, @Id
        WHERE NOT EXISTS (SELECT 1 FROM {CopySelf} AS c WITH (READCOMMITTEDLOCK) WHERE c.One = 1);
    END TRY
    BEGIN CATCH
        IF ERROR_NUMBER() NOT IN (2601, 2627) OR XACT_STATE() = -1
            THROW;
    END CATCH
END
