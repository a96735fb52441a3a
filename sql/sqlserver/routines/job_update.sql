-- job_update: the definition and state of the job @Number, if it is still of this version.
IF OBJECT_ID(N{text:Jobs_Update}) IS NULL EXEC (N{body}CREATE PROCEDURE {Jobs_Update} AS RETURN{end});
GO
ALTER PROCEDURE {Jobs_Update}
    @Number BIGINT,
    @Version BIGINT,
    @Topic NVARCHAR(255),
    @Payload NVARCHAR(MAX),
    @Expression NVARCHAR(MAX) = NULL,
    @Zone NVARCHAR(MAX) = NULL,
    @Options NVARCHAR(MAX),
    @Registrar NVARCHAR(255) = NULL,
    @Absent BIGINT = 0,
    @Disabled BIGINT = 0,
    @DueAt BIGINT = NULL
AS
BEGIN
{settings}
    DECLARE @updated TABLE (Seq BIGINT NOT NULL);
    UPDATE j
    SET Topic = @Topic, Payload = @Payload, CronSchedule = @Expression, Zone = @Zone, Options = @Options, Registrar = @Registrar,
        IsAbsent = CASE WHEN @Absent <> 0 THEN 1 ELSE 0 END, IsEnabled = CASE WHEN @Disabled <> 0 THEN 0 ELSE 1 END,
        Version = j.Version + 1, NextDueTime = {TimeOf}(@DueAt)
    OUTPUT inserted.Seq INTO @updated
    FROM {Jobs} AS j WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE j.Seq = @Number AND j.Version = @Version;
    SELECT u.Seq FROM @updated AS u;
END
