-- job_get: a job with its last run.
IF OBJECT_ID(N{text:Jobs_Get}) IS NULL EXEC (N{body}CREATE PROCEDURE {Jobs_Get} AS RETURN{end});
GO
ALTER PROCEDURE {Jobs_Get}
    @Name NVARCHAR(255)
AS
BEGIN
{settings}
    SELECT CONVERT(CHAR(36), j.Id), j.JobName, j.Topic, j.Payload, j.CronSchedule, j.Zone, j.Options, j.Registrar,
           CAST(j.IsAbsent AS INT), CASE WHEN j.IsEnabled = 1 THEN 0 ELSE 1 END, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), j.NextDueTime), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.ScheduledTime), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.StartTime), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), r.EndTime), CAST(r.StatusCode AS INT), r.LastError
    FROM {Jobs} AS j WITH (FORCESEEK)
    OUTER APPLY (
        SELECT TOP (1) x.ScheduledTime, x.StartTime, x.EndTime, x.StatusCode, x.LastError
        FROM {JobRuns} AS x WITH (FORCESEEK)
        WHERE x.JobId = j.Id AND x.StartTime IS NOT NULL
        ORDER BY x.Seq DESC) AS r
    WHERE j.JobName = @Name AND j.NameWidth = DATALENGTH(@Name);
END
