-- queue_expire: fail waiting messages that are past their expiry.
IF OBJECT_ID(N{text:queue_Expire}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Expire} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Expire}
    @Now BIGINT = NULL,
    @Since BIGINT = NULL,
    @BatchSize BIGINT = 100,
    @Worker NVARCHAR(MAX) = NULL,
    @Reason NVARCHAR(MAX) = NULL
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: apps' transactions go on
{now}
    DECLARE @since_at DATETIME2(6) = {TimeOf}(COALESCE(@Since, -9223372036854775807));
    DECLARE @found TABLE (Seq BIGINT NOT NULL PRIMARY KEY);
    DECLARE @held TABLE (Seq BIGINT NOT NULL);
{call_begin}
    INSERT INTO @found (Seq)
    SELECT TOP (@BatchSize) e.Seq
    FROM {queue} AS e WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Expires))
    WHERE e.Status = 0 AND e.ExpiresAt IS NOT NULL AND e.ExpiresAt >= @since_at AND e.ExpiresAt <= @now_at
    ORDER BY e.ExpiresAt, e.Seq;
    UPDATE w
    SET Status = 3, OwnerToken = NULL, LockedUntil = NULL, OrderedKey = NULL, RunningKey = NULL,{unique} ProcessedAt = @now_at, ProcessedBy = @Worker, LastError = @Reason
    OUTPUT inserted.Seq INTO @held
    FROM @found AS f JOIN {queue} AS w WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON w.Seq = f.Seq
    WHERE w.Status = 0 AND w.ExpiresAt <= @now_at;{joined}
{call_end}
    SELECT h.Seq FROM @held AS h;
END
