-- semaphore_list: up to @BatchSize semaphores behind the name @After: when the first holder is over, the limit, how many hold it.
IF OBJECT_ID(N{text:Semaphore_List}) IS NULL EXEC (N{body}CREATE PROCEDURE {Semaphore_List} AS RETURN{end});
GO
ALTER PROCEDURE {Semaphore_List}
    @After NVARCHAR(255),
    @BatchSize BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    DECLARE @after_key NVARCHAR(256) = CASE WHEN DATALENGTH(@After) > 0 THEN @After + N'.' ELSE N'' END;
    SELECT TOP (@BatchSize) MAX(s.SemaphoreName), CAST(NULL AS NVARCHAR(255)), COALESCE(DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), MIN(h.LeaseUntilUtc)), 0), MAX(s.Slots), COUNT(h.Fence)
    FROM {Semaphore} AS s LEFT JOIN {SemaphoreHolder} AS h ON h.SemaphoreKey = s.SemaphoreKey AND h.LeaseUntilUtc > @now_ms
    WHERE s.SemaphoreKey > @after_key
    GROUP BY s.SemaphoreKey
    ORDER BY s.SemaphoreKey;
END
