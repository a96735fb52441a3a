-- job_run_ask: ask whoever runs it, or will, to end a run.
IF OBJECT_ID(N{text:JobRuns_Ask}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_Ask} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_Ask}
    @Id UNIQUEIDENTIFIER,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @asked TABLE (Seq BIGINT NOT NULL);
    UPDATE r
    SET CancelAt = @now_at
    OUTPUT inserted.Seq INTO @asked
    FROM {JobRuns} AS r WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE r.Id = @Id AND r.StatusCode IN (0, 1);
    SELECT a.Seq FROM @asked AS a;
END
