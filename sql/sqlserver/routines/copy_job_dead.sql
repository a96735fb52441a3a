-- copy_job_dead: its runs that are dead letters. Who holds them looks again: see copy_job_runs.
IF OBJECT_ID(N{text:CopyJob_Dead}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Dead} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Dead}
    @Number BIGINT
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: the move begins anew, and apps' transactions go on
    SELECT r.Seq
    FROM {Jobs} AS j JOIN {JobRuns} AS r WITH (READCOMMITTEDLOCK, INDEX (IX_Job), FORCESEEK) ON r.JobId = j.Id
    WHERE j.Seq = @Number AND r.StatusCode = 3
    ORDER BY r.Seq;
END
