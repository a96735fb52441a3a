-- job_run_list: runs before the one @Number, the latest first.
IF OBJECT_ID(N{text:JobRuns_List}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_List} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_List}
    @Number BIGINT,
    @BatchSize BIGINT
AS
BEGIN
{settings}
    SELECT TOP (@BatchSize) r.Seq, CONVERT(CHAR(36), r.Id), r.JobName, r.Topic, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.ScheduledTime), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.OccurrenceAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.CreatedAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.StartTime), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.EndTime), CAST(r.StatusCode AS INT), r.RetryCount, r.Output, r.LastError
    FROM {JobRuns} AS r
    WHERE r.Seq < @Number
    ORDER BY r.Seq DESC;
END
