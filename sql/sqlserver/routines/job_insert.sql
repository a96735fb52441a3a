-- job_insert: a new job.
IF OBJECT_ID(N{text:Jobs_Insert}) IS NULL EXEC (N{body}CREATE PROCEDURE {Jobs_Insert} AS RETURN{end});
GO
ALTER PROCEDURE {Jobs_Insert}
    @Id UNIQUEIDENTIFIER,
    @Name NVARCHAR(255),
    @Topic NVARCHAR(255),
    @Payload NVARCHAR(MAX),
    @Expression NVARCHAR(MAX) = NULL,
    @Zone NVARCHAR(MAX) = NULL,
    @Options NVARCHAR(MAX),
    @Registrar NVARCHAR(255) = NULL,
    @DueAt BIGINT = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    INSERT INTO {Jobs} (Id, JobName, NameWidth, Topic, Payload, CronSchedule, Zone, Options, Registrar, NextDueTime, CreatedAt)
    VALUES (@Id, @Name, DATALENGTH(@Name), @Topic, @Payload, @Expression, @Zone, @Options, @Registrar, {TimeOf}(@DueAt), @now_at);
END
