-- queue_copy_put: store a run that comes from another store for the job that has the number @JobNumber here, unless there is one with its id, or one of its occurrence; its number. It is held for the store @OwnerToken.
IF OBJECT_ID(N{text:JobRuns_CopyPut}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_CopyPut} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_CopyPut}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Id UNIQUEIDENTIFIER,
    @Status TINYINT,
    @Topic NVARCHAR(255),
    @Payload NVARCHAR(MAX),
    @Headers NVARCHAR(MAX) = NULL,
    @CorrelationId NVARCHAR(255) = NULL,
    @OrderingKey NVARCHAR(255) = NULL,
    @CreatedAt BIGINT,
    @DueAt BIGINT,
    @ExpiresAt BIGINT = NULL,
    @NextAttemptAt BIGINT,
    @WorkExpiresAt BIGINT = NULL,
    @Attempts INT,
    @ClaimNumber BIGINT,
    @FinishedAt BIGINT = NULL,
    @Worker NVARCHAR(MAX) = NULL,
    @Reason NVARCHAR(MAX) = NULL,
    @JobNumber BIGINT,
    @Occurrence BIGINT = NULL,
    @Options NVARCHAR(MAX) = NULL,
    @StartedAt BIGINT = NULL,
    @CancelAt BIGINT = NULL,
    @Output NVARCHAR(MAX) = NULL
AS
BEGIN
{settings}
    DECLARE @held_until DATETIME2(3) = '9999-12-31';
    DECLARE @occurrence_at DATETIME2(6) = {TimeOf}(@Occurrence);
    DECLARE @put TABLE (Seq BIGINT NOT NULL);
{call_begin}
    INSERT INTO {queue} (Id, Topic, Payload, Headers, CorrelationId, OrderingKey, CreatedAt, DueAt, ExpiresAt, Status, NextAttemptAt, RetryCount, ClaimNumber, OwnerToken, LockedUntil, OrderedKey, LastError, JobId, JobName, OccurrenceAt, Options, StartTime, CancelAt, Output)
    OUTPUT inserted.Seq INTO @put
    SELECT @Id, @Topic, @Payload, @Headers, @CorrelationId, @OrderingKey, {TimeOf}(@CreatedAt), {TimeOf}(@DueAt), {TimeOf}(CASE WHEN @Status = 0 THEN @WorkExpiresAt ELSE @ExpiresAt END), 1,
           {TimeOf}(@NextAttemptAt), @Attempts, @ClaimNumber, @OwnerToken, @held_until, CASE WHEN @Status = 0 THEN @OrderingKey + N'.' END, @Reason, j.Id, j.JobName, @occurrence_at, @Options, {TimeOf}(@StartedAt), {TimeOf}(@CancelAt), @Output
    FROM {Jobs} AS j WITH (READCOMMITTEDLOCK)
    WHERE j.Seq = @JobNumber AND NOT EXISTS (SELECT 1 FROM {queue} AS o WITH (READCOMMITTEDLOCK) WHERE o.Id = @Id)
      AND NOT EXISTS (SELECT 1 FROM {queue} AS k WITH (READCOMMITTEDLOCK) WHERE k.JobId = j.Id AND k.OccurrenceAt = @occurrence_at AND k.OccurrenceAt IS NOT NULL);
    INSERT INTO {CopyItem} (Queue, Seq, Peer, IsDead, FinishedAt, FinishedBy, IsArrived, ExpiresAt)
    SELECT @Queue, p.Seq, @OwnerToken, CASE WHEN @Status = 0 THEN 0 ELSE 1 END, {TimeOf}(@FinishedAt), @Worker, 1, {TimeOf}(@ExpiresAt) FROM @put AS p;
{call_end}
    SELECT p.Seq FROM @put AS p;
END
