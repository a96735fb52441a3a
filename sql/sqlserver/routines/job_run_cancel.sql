-- job_run_cancel: end a run that nobody has, as cancelled.
IF OBJECT_ID(N{text:JobRuns_Cancel}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_Cancel} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_Cancel}
    @Id UNIQUEIDENTIFIER,
    @Now BIGINT = NULL,
    @Reason NVARCHAR(MAX) = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @ended TABLE (Seq BIGINT NOT NULL);
    UPDATE r
    SET StatusCode = 6, OrderedKey = NULL, ActiveKey = NULL, EndTime = @now_at, LastError = @Reason
    OUTPUT inserted.Seq INTO @ended
    FROM {JobRuns} AS r WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE r.Id = @Id AND r.StatusCode = 0;
    SELECT e.Seq FROM @ended AS e;
END
