-- lease_release: free what @Owner holds; with @Fence, that very acquisition.
IF OBJECT_ID(N{text:Lease_Release}) IS NULL EXEC (N{body}CREATE PROCEDURE {Lease_Release} AS RETURN{end});
GO
ALTER PROCEDURE {Lease_Release}
    @LeaseName NVARCHAR(255),
    @Owner NVARCHAR(255),
    @Fence BIGINT = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    DECLARE @held TABLE (Fence BIGINT NOT NULL);
    UPDATE l
    SET Owner = NULL, LeaseUntilUtc = @now_ms
    OUTPUT inserted.Fence INTO @held
    FROM {Lease} AS l WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE l.LeaseKey = @LeaseName + N'.' AND l.Owner = @Owner AND DATALENGTH(l.Owner) = DATALENGTH(@Owner)
      AND (@Fence IS NULL OR l.Fence = @Fence) AND l.LeaseUntilUtc > @now_ms;
    SELECT h.Fence FROM @held AS h;
END
