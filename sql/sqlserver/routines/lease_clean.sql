-- lease_clean: forget up to @BatchSize names that nobody has held for @Delay us. Rows that others have locked stay.
IF OBJECT_ID(N{text:Lease_Clean}) IS NULL EXEC (N{body}CREATE PROCEDURE {Lease_Clean} AS RETURN{end});
GO
ALTER PROCEDURE {Lease_Clean}
    @Delay BIGINT,
    @BatchSize BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: apps' transactions go on
{now}
    DECLARE @old DATETIME2(3) = {TimeOf}(@now_us - @Delay - (@now_us - @Delay) % 1000);
    DECLARE @found TABLE (LeaseKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY);
    DECLARE @gone TABLE (Fence BIGINT NOT NULL);
    INSERT INTO @found (LeaseKey)
    SELECT TOP (@BatchSize) o.LeaseKey
    FROM {Lease} AS o WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
    WHERE o.LeaseUntilUtc <= @old
    ORDER BY o.LeaseKey;
    DELETE l
    OUTPUT deleted.Fence INTO @gone
    FROM @found AS f JOIN {Lease} AS l WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON l.LeaseKey = f.LeaseKey
    WHERE l.LeaseUntilUtc <= @old;
    SELECT g.Fence FROM @gone AS g;
END
