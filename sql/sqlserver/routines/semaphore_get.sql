-- semaphore_get: how many hold the semaphore @SemaphoreName, and when the first of them is over.
IF OBJECT_ID(N{text:Semaphore_Get}) IS NULL EXEC (N{body}CREATE PROCEDURE {Semaphore_Get} AS RETURN{end});
GO
ALTER PROCEDURE {Semaphore_Get}
    @SemaphoreName NVARCHAR(255),
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    SELECT 0, CAST(NULL AS NVARCHAR(255)), 0, COALESCE(DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), MIN(h.LeaseUntilUtc)), 0), @now_us, MAX(s.Slots), COUNT(h.Fence)
    FROM {Semaphore} AS s LEFT JOIN {SemaphoreHolder} AS h ON h.SemaphoreKey = s.SemaphoreKey AND h.LeaseUntilUtc > @now_ms
    WHERE s.SemaphoreKey = @SemaphoreName + N'.'
    GROUP BY s.SemaphoreKey;
END
