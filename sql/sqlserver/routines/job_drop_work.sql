-- job_drop_work: forget pending runs of the job @Name. The job is held, lest it is given others meanwhile.
IF OBJECT_ID(N{text:Jobs_DropWork}) IS NULL EXEC (N{body}CREATE PROCEDURE {Jobs_DropWork} AS RETURN{end});
GO
ALTER PROCEDURE {Jobs_DropWork}
    @Name NVARCHAR(255)
AS
BEGIN
{settings}
    DECLARE @gone TABLE (Seq BIGINT NOT NULL);
    DECLARE @job TABLE (Id UNIQUEIDENTIFIER NOT NULL);
    DECLARE @id UNIQUEIDENTIFIER;
{call_begin}
    -- Written as it was, for that locks at every level of isolation.
    UPDATE j
    SET IsEnabled = j.IsEnabled
    OUTPUT inserted.Id INTO @job
    FROM {Jobs} AS j WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE j.JobName = @Name AND j.NameWidth = DATALENGTH(@Name);
    SELECT @id = j.Id FROM @job AS j;
    DELETE r
    OUTPUT deleted.Seq INTO @gone
    FROM {JobRuns} AS r WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE r.JobId = @id AND r.StatusCode = 0;
    DELETE p FROM @gone AS g JOIN {JobRuns_Replayed} AS p WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON p.Seq = g.Seq;
{call_end}
END
