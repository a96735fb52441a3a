-- lease_get: who holds the lease @LeaseName, or held it last.
IF OBJECT_ID(N{text:Lease_Get}) IS NULL EXEC (N{body}CREATE PROCEDURE {Lease_Get} AS RETURN{end});
GO
ALTER PROCEDURE {Lease_Get}
    @LeaseName NVARCHAR(255),
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    SELECT 0, l.Owner, l.Fence, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), l.LeaseUntilUtc), @now_us, 1, CASE WHEN l.LeaseUntilUtc > @now_ms AND l.Owner IS NOT NULL THEN 1 ELSE 0 END
    FROM {Lease} AS l
    WHERE l.LeaseKey = @LeaseName + N'.';
END
