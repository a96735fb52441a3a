-- copy_job_runs: its runs that wait. Who holds them looks again; locks of an index alone would meet others who lock the row first.
IF OBJECT_ID(N{text:CopyJob_Runs}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Runs} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Runs}
    @Number BIGINT
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: the move begins anew, and apps' transactions go on
    SELECT r.Seq
    FROM {Jobs} AS j JOIN {JobRuns} AS r WITH (READCOMMITTEDLOCK, INDEX (IX_Job), FORCESEEK) ON r.JobId = j.Id
    WHERE j.Seq = @Number AND r.StatusCode = 0
    ORDER BY r.Seq;
END
