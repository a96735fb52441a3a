-- join_list_of: up to @BatchSize joins with the grouping key @GroupingKey after the row @Number.
IF OBJECT_ID(N{text:Join_ListOf}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_ListOf} AS RETURN{end});
GO
ALTER PROCEDURE {Join_ListOf}
    @GroupingKey NVARCHAR(255),
    @Number BIGINT,
    @BatchSize BIGINT
AS
BEGIN
{settings}
    SELECT TOP (@BatchSize) j.Seq, CONVERT(CHAR(36), j.Id), j.Status, j.Expected, j.Completed, j.Failed, j.FailIfAny, j.GroupingKey, j.Metadata, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), j.CreatedAt),
           DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), j.DeadlineAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), j.EndedAt), j.Reason,
           (SELECT CONVERT(CHAR(36), n.Id) FROM {JoinNext} AS n WHERE n.JoinSeq = j.Seq AND n.Status = j.Status)
    FROM {Join} AS j
    WHERE j.GroupingKey = @GroupingKey AND DATALENGTH(j.GroupingKey) = DATALENGTH(@GroupingKey) AND j.Seq > @Number
    ORDER BY j.Seq;
END
