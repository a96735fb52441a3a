-- semaphore_keep: extend the slots of @Leases, [[fence, duration in us], ...]. As Lease_Keep.
IF OBJECT_ID(N{text:Semaphore_Keep}) IS NULL EXEC (N{body}CREATE PROCEDURE {Semaphore_Keep} AS RETURN{end});
GO
ALTER PROCEDURE {Semaphore_Keep}
    @Leases NVARCHAR(MAX),
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    DECLARE @wanted TABLE (Fence BIGINT NOT NULL PRIMARY KEY, Duration BIGINT NOT NULL);
    INSERT INTO @wanted (Fence, Duration)
    SELECT j.Fence, MAX(j.Duration) FROM OPENJSON(@Leases) WITH (Fence BIGINT '$[0]', Duration BIGINT '$[1]') AS j GROUP BY j.Fence;
    DECLARE @held TABLE (Fence BIGINT NOT NULL);
    UPDATE l
    SET LeaseUntilUtc = DATEADD(MILLISECOND, CAST((@now_us % 1000 + f.Duration) / 1000 AS INT), @now_ms)
    OUTPUT inserted.Fence INTO @held
    FROM @wanted AS f, {SemaphoreHolder} AS l WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE l.Fence = f.Fence;
    IF (SELECT COUNT(*) FROM @held AS h) = (SELECT COUNT(*) FROM @wanted AS f)
        SELECT h.Fence, 1 FROM @held AS h;
    ELSE
        SELECT h.Fence, 1 FROM @held AS h
        UNION ALL
        SELECT f.Fence, 0 FROM @wanted AS f
        WHERE f.Fence NOT IN (SELECT h.Fence FROM @held AS h)
          AND NOT EXISTS (SELECT 1 FROM {SemaphoreHolder} AS l WITH (READPAST, UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) WHERE l.Fence = f.Fence)
          AND EXISTS (SELECT 1 FROM {SemaphoreHolder} AS l WITH (READUNCOMMITTED) WHERE l.Fence = f.Fence);
END
