-- health_look: the server's clock, and null: no snapshot is looked for.
IF OBJECT_ID(N{text:Health_Look}) IS NULL EXEC (N{body}CREATE PROCEDURE {Health_Look} AS RETURN{end});
GO
ALTER PROCEDURE {Health_Look}
AS
BEGIN
{settings}
    SELECT DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), SYSUTCDATETIME()), CAST(NULL AS BIGINT);
END
