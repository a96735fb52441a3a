-- queue_reap_expired: leases that are over: their messages are ready again, an attempt older. For maintenance by hand; workers reap with a backoff and a limit.
IF OBJECT_ID(N{text:queue_ReapExpired}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_ReapExpired} AS RETURN{end});
GO
ALTER PROCEDURE {queue_ReapExpired}
    @BatchSize INT = 1000
AS
BEGIN
{settings}
    DECLARE @Now BIGINT;
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    DECLARE @found TABLE (Seq BIGINT NOT NULL PRIMARY KEY);
    INSERT INTO @found (Seq)
    SELECT TOP (@BatchSize) e.Seq
    FROM {queue} AS e WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Leased))
    WHERE e.Status = 1 AND e.LockedUntil <= @now_ms
    ORDER BY e.LockedUntil, e.Seq;
    UPDATE w
    SET Status = 0, RunningKey = NULL, OwnerToken = NULL, LockedUntil = NULL, RetryCount = w.RetryCount + 1, NextAttemptAt = @now_at, LastError = N'lease expired'
    FROM @found AS f JOIN {queue} AS w WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON w.Seq = f.Seq
    WHERE w.Status = 1 AND w.LockedUntil <= @now_ms;
END
