-- job_ahead: jobs that were last dealt with more than @Delay us in the future, when the clock was ahead.
IF OBJECT_ID(N{text:Jobs_Ahead}) IS NULL EXEC (N{body}CREATE PROCEDURE {Jobs_Ahead} AS RETURN{end});
GO
ALTER PROCEDURE {Jobs_Ahead}
    @Delay BIGINT,
    @BatchSize BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @ahead DATETIME2(6) = {TimeOf}(@now_us + @Delay);
    SELECT TOP (@BatchSize) @now_us, j.Seq, CONVERT(CHAR(36), j.Id), j.JobName, j.CronSchedule, j.Zone, j.Options, j.Version, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), j.NextDueTime)
    FROM {Jobs} AS j
    WHERE j.FiredAt > @ahead AND j.FiredAt IS NOT NULL
    ORDER BY j.FiredAt, j.Seq;
END
