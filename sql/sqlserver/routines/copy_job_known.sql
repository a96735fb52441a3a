-- copy_job_known: whether there is a job of the name @Name, or with the id @Id.
IF OBJECT_ID(N{text:CopyJob_Known}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Known} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Known}
    @Name NVARCHAR(255),
    @Id UNIQUEIDENTIFIER
AS
BEGIN
{settings}
    SELECT 1 FROM {Jobs} AS j WITH (READCOMMITTEDLOCK) WHERE j.JobName = @Name AND j.NameWidth = DATALENGTH(@Name)
    UNION ALL
    SELECT 1 FROM {Jobs} AS o WITH (READCOMMITTEDLOCK) WHERE o.Id = @Id;
END
