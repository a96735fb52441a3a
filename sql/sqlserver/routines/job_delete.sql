-- job_delete: the job @Name itself.
IF OBJECT_ID(N{text:Jobs_Delete}) IS NULL EXEC (N{body}CREATE PROCEDURE {Jobs_Delete} AS RETURN{end});
GO
ALTER PROCEDURE {Jobs_Delete}
    @Name NVARCHAR(255)
AS
BEGIN
{settings}
    DECLARE @gone TABLE (Seq BIGINT NOT NULL);
    DELETE j
    OUTPUT deleted.Seq INTO @gone
    FROM {Jobs} AS j WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE j.JobName = @Name AND j.NameWidth = DATALENGTH(@Name);
    SELECT g.Seq FROM @gone AS g;
END
