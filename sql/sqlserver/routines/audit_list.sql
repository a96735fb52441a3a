-- audit_list: up to @BatchSize notes before @Number, the latest first.
IF OBJECT_ID(N{text:Audit_List}) IS NULL EXEC (N{body}CREATE PROCEDURE {Audit_List} AS RETURN{end});
GO
ALTER PROCEDURE {Audit_List}
    @Number BIGINT,
    @BatchSize BIGINT
AS
BEGIN
{settings}
    SELECT TOP (@BatchSize) a.Seq, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), a.NotedAt), a.Actor, a.Action, a.Queue, a.Subject, a.Detail
    FROM {Audit} AS a
    WHERE a.Seq < @Number
    ORDER BY a.Seq DESC;
END
