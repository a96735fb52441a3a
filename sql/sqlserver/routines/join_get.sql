-- join_get: one join.
IF OBJECT_ID(N{text:Join_Get}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_Get} AS RETURN{end});
GO
ALTER PROCEDURE {Join_Get}
    @Id UNIQUEIDENTIFIER
AS
BEGIN
{settings}
    SELECT j.Seq, CONVERT(CHAR(36), j.Id), j.Status, j.Expected, j.Completed, j.Failed, j.FailIfAny, j.GroupingKey, j.Metadata, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), j.CreatedAt),
           DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), j.DeadlineAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), j.EndedAt), j.Reason,
           (SELECT CONVERT(CHAR(36), n.Id) FROM {JoinNext} AS n WHERE n.JoinSeq = j.Seq AND n.Status = j.Status)
    FROM {Join} AS j WITH (FORCESEEK)
    WHERE j.Id = @Id;
END
