-- queue_last_dead: when the last dead letter died; null: there is none.
IF OBJECT_ID(N{text:queue_LastDead}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_LastDead} AS RETURN{end});
GO
ALTER PROCEDURE {queue_LastDead}
AS
BEGIN
{settings}
    SELECT DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), MAX(m.ProcessedAt)) FROM {queue} AS m WHERE m.Status = 3;
END
