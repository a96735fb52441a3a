-- job_run_list_of: runs of the job @Name before the one @Number, the latest first.
IF OBJECT_ID(N{text:JobRuns_ListOf}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_ListOf} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_ListOf}
    @Name NVARCHAR(255),
    @Number BIGINT,
    @BatchSize BIGINT
AS
BEGIN
{settings}
    SELECT TOP (@BatchSize) r.Seq, CONVERT(CHAR(36), r.Id), r.JobName, r.Topic, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.ScheduledTime), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.OccurrenceAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.CreatedAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.StartTime), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.EndTime), CAST(r.StatusCode AS INT), r.RetryCount, r.Output, r.LastError
    FROM {JobRuns} AS r
    WHERE r.JobName = @Name AND DATALENGTH(r.JobName) = DATALENGTH(@Name) AND r.Seq < @Number
    ORDER BY r.Seq DESC;
END
