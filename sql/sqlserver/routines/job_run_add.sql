-- job_run_add: a run of the job @Number for the occurrence @Occurrence (null: now, by hand), unless it has one. None for a job that arrives from another store. The job cannot be deleted meanwhile. @Status 1: skipped; 2: skipped if another one with its ordering key is unfinished; 3: or if @BatchSize are. 1: it is to be run.
IF OBJECT_ID(N{text:JobRuns_Add}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_Add} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_Add}
    @Id UNIQUEIDENTIFIER,
    @Number BIGINT,
    @OrderingKey NVARCHAR(255) = NULL,
    @Occurrence BIGINT = NULL,
    @Status INT = 0,
    @BatchSize BIGINT = 1000,
    @Reason NVARCHAR(MAX) = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @occurrence_at DATETIME2(6) = {TimeOf}(@Occurrence);
    DECLARE @due DATETIME2(6) = COALESCE(@occurrence_at, @now_at);
    DECLARE @enough BIGINT = CASE @Status WHEN 1 THEN 0 WHEN 2 THEN 1 WHEN 3 THEN @BatchSize END;
    DECLARE @key NVARCHAR(256) = @OrderingKey + N'.';
    DECLARE @others BIGINT = 0, @skipped NVARCHAR(MAX);
    DECLARE @job UNIQUEIDENTIFIER;
    DECLARE @made TABLE (StatusCode TINYINT NOT NULL);
    SELECT @job = j.Id FROM {Jobs} AS j WHERE j.Seq = @Number;
    IF @enough > 0
        SELECT @others = COUNT(*)
        FROM (SELECT TOP (@enough) w.Seq FROM {JobRuns} AS w WITH (INDEX (IX_Ordered)) WHERE w.OrderedKey = @key AND w.OrderedKey IS NOT NULL) AS q;
    IF @others >= @enough
        SET @skipped = @Reason;
    -- The job's place in the index of ids (k) is held until this is committed, so that nobody deletes it; no scheduler who moves it on waits for that.
    BEGIN TRY
        INSERT INTO {JobRuns} (Id, JobId, JobName, OccurrenceAt, Options, Topic, Payload, OrderingKey, CreatedAt, ScheduledTime, StatusCode, NextAttemptAt, OrderedKey, EndTime, LastError)
        OUTPUT inserted.StatusCode INTO @made
        SELECT @Id, j.Id, j.JobName, @occurrence_at, j.Options, j.Topic, j.Payload, @OrderingKey, @now_at, @due,
               CASE WHEN @skipped IS NULL THEN 0 ELSE 7 END, CASE WHEN @due > @now_at THEN @due ELSE @now_at END,
               CASE WHEN @skipped IS NULL THEN @key END, CASE WHEN @skipped IS NOT NULL THEN @now_at END, @skipped
        FROM {Jobs} AS k WITH (REPEATABLEREAD, ROWLOCK, INDEX ({name:Jobs_Known}), FORCESEEK) JOIN {Jobs} AS j ON j.Seq = k.Seq
        WHERE k.Id = @job AND j.Seq = @Number
          AND NOT EXISTS (SELECT 1 FROM {CopyJob} AS c WHERE c.JobSeq = j.Seq AND c.JobId = j.Id AND c.Version = j.Version AND c.IsArrived = 1);
    END TRY
    BEGIN CATCH
        IF ERROR_NUMBER() NOT IN (2601, 2627) OR XACT_STATE() = -1
            THROW;
    END CATCH
    SELECT CASE WHEN m.StatusCode = 0 THEN 1 ELSE 0 END FROM @made AS m;
END
