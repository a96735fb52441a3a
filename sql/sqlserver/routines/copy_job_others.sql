-- copy_job_others: one of its unfinished runs that the store @OwnerToken does not hold, if there is one. It waits for who is just giving it one.
IF OBJECT_ID(N{text:CopyJob_Others}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Others} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Others}
    @OwnerToken UNIQUEIDENTIFIER,
    @Number BIGINT
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: the move begins anew, and apps' transactions go on
    SELECT TOP (1) r.Seq
    FROM {Jobs} AS j JOIN {JobRuns} AS r WITH (READCOMMITTEDLOCK, INDEX (IX_Unfinished), FORCESEEK) ON r.JobId = j.Id
    WHERE j.Seq = @Number AND r.StatusCode IN (0, 1) AND (r.OwnerToken IS NULL OR r.OwnerToken <> @OwnerToken)
    ORDER BY r.Seq;
END
