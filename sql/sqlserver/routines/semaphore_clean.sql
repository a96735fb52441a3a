-- semaphore_clean: forget up to @BatchSize holders whose time has passed @Delay us ago. What others have locked stays.
IF OBJECT_ID(N{text:Semaphore_Clean}) IS NULL EXEC (N{body}CREATE PROCEDURE {Semaphore_Clean} AS RETURN{end});
GO
ALTER PROCEDURE {Semaphore_Clean}
    @Delay BIGINT,
    @BatchSize BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: apps' transactions go on
{now}
    DECLARE @old DATETIME2(3) = {TimeOf}(@now_us - @Delay - (@now_us - @Delay) % 1000);
    DECLARE @found TABLE (Fence BIGINT NOT NULL PRIMARY KEY, SemaphoreKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL);
    DECLARE @free TABLE (SemaphoreKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY);
    DECLARE @gone TABLE (Fence BIGINT NOT NULL, SemaphoreKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL);
{call_begin}
    INSERT INTO @found (Fence, SemaphoreKey)
    SELECT TOP (@BatchSize) h.Fence, h.SemaphoreKey
    FROM {SemaphoreHolder} AS h WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
    WHERE h.LeaseUntilUtc <= @old
    ORDER BY h.Fence;
    INSERT INTO @free (SemaphoreKey)
    SELECT s.SemaphoreKey
    FROM (SELECT DISTINCT f.SemaphoreKey FROM @found AS f) AS d
    JOIN {Semaphore} AS s WITH (READPAST, UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON s.SemaphoreKey = d.SemaphoreKey;
    DELETE h
    OUTPUT deleted.Fence, deleted.SemaphoreKey INTO @gone
    FROM @found AS f JOIN @free AS n ON n.SemaphoreKey = f.SemaphoreKey
    JOIN {SemaphoreHolder} AS h WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON h.Fence = f.Fence
    WHERE h.LeaseUntilUtc <= @old;
    UPDATE s
    SET Held = s.Held - (SELECT COUNT(*) FROM @gone AS g WHERE g.SemaphoreKey = s.SemaphoreKey)
    FROM @free AS n JOIN {Semaphore} AS s WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON s.SemaphoreKey = n.SemaphoreKey
    WHERE EXISTS (SELECT 1 FROM @gone AS g WHERE g.SemaphoreKey = n.SemaphoreKey);
{call_end}
    SELECT g.Fence FROM @gone AS g;
END
