-- copy_job_read: all that is known of the job @Number, on its way to the store @OwnerToken or from it.
IF OBJECT_ID(N{text:CopyJob_Read}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Read} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Read}
    @OwnerToken UNIQUEIDENTIFIER,
    @Number BIGINT
AS
BEGIN
{settings}
    SELECT j.Seq, CONVERT(CHAR(36), j.Id), j.JobName, j.Topic, j.Payload, j.CronSchedule, j.Zone, j.Options, j.Registrar, CAST(j.IsAbsent AS INT),
           CASE WHEN j.IsEnabled = 1 THEN 0 ELSE 1 END, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), c.NextDueTime), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), j.CreatedAt)
    FROM {CopyJob} AS c JOIN {Jobs} AS j WITH (FORCESEEK) ON j.Seq = c.JobSeq AND j.Id = c.JobId
    WHERE c.JobSeq = @Number AND c.Peer = @OwnerToken;
END
