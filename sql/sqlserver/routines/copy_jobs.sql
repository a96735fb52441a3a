-- copy_jobs: how many jobs there are.
IF OBJECT_ID(N{text:CopyJob_Count}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Count} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Count}
AS
BEGIN
{settings}
    SELECT COUNT_BIG(*) FROM {Jobs} AS j;
END
