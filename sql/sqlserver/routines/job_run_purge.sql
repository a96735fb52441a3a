-- job_run_purge: forget runs that were finished @Delay us ago or earlier; which were.
IF OBJECT_ID(N{text:JobRuns_Purge}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_Purge} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_Purge}
    @Delay BIGINT,
    @BatchSize BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: apps' transactions go on
{now}
    DECLARE @old DATETIME2(6) = {TimeOf}(@now_us - @Delay);
    DECLARE @found TABLE (Seq BIGINT NOT NULL PRIMARY KEY);
    DECLARE @gone TABLE (Seq BIGINT NOT NULL);
    INSERT INTO @found (Seq)
    SELECT TOP (@BatchSize) e.Seq
    FROM {JobRuns} AS e WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Ended))
    WHERE e.EndTime IS NOT NULL AND e.EndTime <= @old
    ORDER BY e.EndTime, e.Seq;
    DELETE r
    OUTPUT deleted.Seq INTO @gone
    FROM @found AS f JOIN {JobRuns} AS r WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON r.Seq = f.Seq
    WHERE r.EndTime IS NOT NULL AND r.EndTime <= @old;
    SELECT g.Seq FROM @gone AS g ORDER BY g.Seq;
END
