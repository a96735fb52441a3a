-- semaphore_release: free the slot that @Owner holds; with @Fence, that very one.
IF OBJECT_ID(N{text:Semaphore_Release}) IS NULL EXEC (N{body}CREATE PROCEDURE {Semaphore_Release} AS RETURN{end});
GO
ALTER PROCEDURE {Semaphore_Release}
    @SemaphoreName NVARCHAR(255),
    @Owner NVARCHAR(255),
    @Fence BIGINT = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    DECLARE @key NVARCHAR(256) = @SemaphoreName + N'.';
    DECLARE @held TABLE (Fence BIGINT NOT NULL);
{call_begin}
    -- The semaphore first, then its holder.
    UPDATE s
    SET Held = s.Held
    FROM {Semaphore} AS s WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE s.SemaphoreKey = @key;
    DELETE h
    OUTPUT deleted.Fence INTO @held
    FROM {SemaphoreHolder} AS h WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE h.SemaphoreKey = @key AND h.OwnerKey = @Owner + N'.' AND (@Fence IS NULL OR h.Fence = @Fence) AND h.LeaseUntilUtc > @now_ms;
    UPDATE s
    SET Held = s.Held - 1
    FROM {Semaphore} AS s WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE s.SemaphoreKey = @key AND EXISTS (SELECT 1 FROM @held AS h);
{call_end}
    SELECT h.Fence FROM @held AS h;
END
