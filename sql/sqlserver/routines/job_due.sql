-- job_due: jobs that are due, the longest first, behind the one of @Since and @Number.
IF OBJECT_ID(N{text:Jobs_Due}) IS NULL EXEC (N{body}CREATE PROCEDURE {Jobs_Due} AS RETURN{end});
GO
ALTER PROCEDURE {Jobs_Due}
    @Since BIGINT,
    @Number BIGINT,
    @BatchSize BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @since_at DATETIME2(6) = {TimeOf}(@Since);
    SELECT TOP (@BatchSize) @now_us, j.Seq, CONVERT(CHAR(36), j.Id), j.JobName, j.CronSchedule, j.Zone, j.Options, j.Version, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), j.NextDueTime)
    FROM {Jobs} AS j WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Due))
    WHERE j.NextDueTime IS NOT NULL AND j.NextDueTime >= @since_at AND j.NextDueTime <= @now_at AND (j.NextDueTime > @since_at OR j.Seq > @Number)
    ORDER BY j.NextDueTime, j.Seq;
END
