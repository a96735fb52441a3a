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
{now}
    DECLARE @old DATETIME2(3) = {TimeOf}(@now_us - @Delay - (@now_us - @Delay) % 1000);
    DECLARE @gone TABLE (Fence BIGINT NOT NULL);
    DELETE l
    OUTPUT deleted.Fence INTO @gone
    FROM {Lease} AS l WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE l.LeaseUntilUtc <= @old AND l.LeaseKey IN (
        SELECT TOP (@BatchSize) o.LeaseKey
        FROM {Lease} AS o WITH (READPAST, UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
        WHERE o.LeaseUntilUtc <= @old
        ORDER BY o.LeaseKey);
    SELECT g.Fence FROM @gone AS g;
END
