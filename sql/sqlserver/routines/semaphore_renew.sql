-- semaphore_renew: extend what @Owner holds to @Lease us from now; with @Fence, that very slot.
IF OBJECT_ID(N{text:Semaphore_Renew}) IS NULL EXEC (N{body}CREATE PROCEDURE {Semaphore_Renew} AS RETURN{end});
GO
ALTER PROCEDURE {Semaphore_Renew}
    @SemaphoreName NVARCHAR(255),
    @Owner NVARCHAR(255),
    @Lease BIGINT,
    @Fence BIGINT = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    DECLARE @until DATETIME2(3) = {TimeOf}(@now_us + @Lease - (@now_us + @Lease) % 1000);
    DECLARE @held TABLE (Fence BIGINT NOT NULL);
    UPDATE h
    SET LeaseUntilUtc = @until
    OUTPUT inserted.Fence INTO @held
    FROM {SemaphoreHolder} AS h WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE h.SemaphoreKey = @SemaphoreName + N'.' AND h.OwnerKey = @Owner + N'.' AND (@Fence IS NULL OR h.Fence = @Fence) AND h.LeaseUntilUtc > @now_ms;
    SELECT 1, @Owner, h.Fence, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), @until), @now_us, 0, 0 FROM @held AS h;
END
