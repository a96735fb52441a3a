-- lease_list: up to @BatchSize leases behind the name @After: whose they are or were, until when, 1, how many hold it.
IF OBJECT_ID(N{text:Lease_List}) IS NULL EXEC (N{body}CREATE PROCEDURE {Lease_List} AS RETURN{end});
GO
ALTER PROCEDURE {Lease_List}
    @After NVARCHAR(255),
    @BatchSize BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    DECLARE @after_key NVARCHAR(256) = CASE WHEN DATALENGTH(@After) > 0 THEN @After + N'.' ELSE N'' END;
    SELECT TOP (@BatchSize) l.LeaseName, l.Owner, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), l.LeaseUntilUtc), 1, CASE WHEN l.LeaseUntilUtc > @now_ms AND l.Owner IS NOT NULL THEN 1 ELSE 0 END
    FROM {Lease} AS l
    WHERE l.LeaseKey > @after_key
    ORDER BY l.LeaseKey;
END
