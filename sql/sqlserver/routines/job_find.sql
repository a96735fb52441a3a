-- job_find: the time, and the job @Name if there is one; whether a run of it is unfinished. When one is due that is on its way to another store, or from it, is what it gets back.
IF OBJECT_ID(N{text:Jobs_Find}) IS NULL EXEC (N{body}CREATE PROCEDURE {Jobs_Find} AS RETURN{end});
GO
ALTER PROCEDURE {Jobs_Find}
    @Name NVARCHAR(255),
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    SELECT @now_us, j.Seq, CONVERT(CHAR(36), j.Id), j.Topic, j.Payload, j.CronSchedule, j.Zone, j.Options, j.Registrar,
           CAST(j.IsAbsent AS INT), CASE WHEN j.IsEnabled = 1 THEN 0 ELSE 1 END, j.Version, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)),
               COALESCE(j.NextDueTime, (SELECT c.NextDueTime FROM {CopyJob} AS c WHERE c.JobSeq = j.Seq AND c.JobId = j.Id AND c.Version = j.Version))),
           CASE WHEN EXISTS (SELECT 1 FROM {JobRuns} AS r WITH (FORCESEEK) WHERE r.JobId = j.Id AND r.StatusCode IN (0, 1)) THEN 1 ELSE 0 END
    FROM (SELECT 1 AS One) AS o LEFT JOIN {Jobs} AS j WITH (FORCESEEK) ON j.JobName = @Name AND j.NameWidth = DATALENGTH(@Name);
END
