-- job_drop_work: forget pending runs of the job @Name. The job is held, lest it is given others meanwhile.
IF OBJECT_ID(N{text:Jobs_DropWork}) IS NULL EXEC (N{body}CREATE PROCEDURE {Jobs_DropWork} AS RETURN{end});
GO
ALTER PROCEDURE {Jobs_DropWork}
    @Name NVARCHAR(255)
AS
BEGIN
{settings}
    DECLARE @gone TABLE (Seq BIGINT NOT NULL);
    DECLARE @id UNIQUEIDENTIFIER;
{call_begin}
    SELECT @id = j.Id FROM {Jobs} AS j WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK) WHERE j.JobName = @Name AND j.NameWidth = DATALENGTH(@Name);
    DELETE r
    OUTPUT deleted.Seq INTO @gone
    FROM {JobRuns} AS r WITH (ROWLOCK)
    WHERE r.JobId = @id AND r.StatusCode = 0;
    DELETE p FROM {JobRuns_Replayed} AS p WHERE p.Seq IN (SELECT g.Seq FROM @gone AS g);
{call_end}
END
