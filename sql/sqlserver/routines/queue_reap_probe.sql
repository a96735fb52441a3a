-- queue_reap_probe: whether a lease or a waiting message has expired.
IF OBJECT_ID(N{text:queue_ReapProbe}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_ReapProbe} AS RETURN{end});
GO
ALTER PROCEDURE {queue_ReapProbe}
    @Now BIGINT = NULL,
    @Since BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    DECLARE @since_at DATETIME2(6) = {TimeOf}(COALESCE(@Since, -9223372036854775807));
    DECLARE @since_ms DATETIME2(3) = {TimeOf}(COALESCE(@Since - @Since % 1000, -9223372036854775807));
    SELECT CASE WHEN EXISTS (SELECT 1 FROM {queue} AS w WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK) WHERE w.Status = 1 AND w.LockedUntil >= @since_ms AND w.LockedUntil <= @now_ms)
                  OR EXISTS (SELECT 1 FROM {queue} AS w WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK) WHERE w.Status = 0 AND w.ExpiresAt IS NOT NULL AND w.ExpiresAt >= @since_at AND w.ExpiresAt <= @now_at)
                THEN 1 ELSE 0 END;
END
