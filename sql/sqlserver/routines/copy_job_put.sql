-- copy_job_put: store a job that comes from another store; its number. It is not scheduled.
IF OBJECT_ID(N{text:CopyJob_Put}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Put} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Put}
    @Id UNIQUEIDENTIFIER,
    @Name NVARCHAR(255),
    @Topic NVARCHAR(255),
    @Payload NVARCHAR(MAX),
    @Expression NVARCHAR(MAX) = NULL,
    @Zone NVARCHAR(MAX) = NULL,
    @Options NVARCHAR(MAX) = NULL,
    @Registrar NVARCHAR(255) = NULL,
    @Absent BIGINT,
    @Disabled BIGINT,
    @CreatedAt BIGINT
AS
BEGIN
{settings}
    DECLARE @put TABLE (Seq BIGINT NOT NULL);
    INSERT INTO {Jobs} (Id, JobName, NameWidth, Topic, Payload, CronSchedule, Zone, Options, Registrar, IsAbsent, IsEnabled, Version, NextDueTime, CreatedAt)
    OUTPUT inserted.Seq INTO @put
    VALUES (@Id, @Name, DATALENGTH(@Name), @Topic, @Payload, @Expression, @Zone, @Options, @Registrar, CASE WHEN @Absent <> 0 THEN 1 ELSE 0 END,
            CASE WHEN @Disabled <> 0 THEN 0 ELSE 1 END, 1, NULL, {TimeOf}(@CreatedAt));
    SELECT p.Seq FROM @put AS p;
END
