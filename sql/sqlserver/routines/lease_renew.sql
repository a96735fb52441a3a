-- lease_renew: extend what @Owner holds to @Lease us from now; with @Fence, that very acquisition.
IF OBJECT_ID(N{text:Lease_Renew}) IS NULL EXEC (N{body}CREATE PROCEDURE {Lease_Renew} AS RETURN{end});
GO
ALTER PROCEDURE {Lease_Renew}
    @LeaseName NVARCHAR(255),
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
    UPDATE l
    SET LeaseUntilUtc = @until, RenewedUtc = @now_ms
    OUTPUT inserted.Fence INTO @held
    FROM {Lease} AS l WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE l.LeaseKey = @LeaseName + N'.' AND l.Owner = @Owner AND DATALENGTH(l.Owner) = DATALENGTH(@Owner)
      AND (@Fence IS NULL OR l.Fence = @Fence) AND l.LeaseUntilUtc > @now_ms;
    SELECT 1, @Owner, h.Fence, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), @until), @now_us, 1, 1 FROM @held AS h;
END
