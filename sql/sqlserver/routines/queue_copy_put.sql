-- queue_copy_put: store a message that comes from another store, unless there is one with its id or an unfinished one with its unique key; its number. A dead letter has no claim to its unique key. It is held for the store @OwnerToken.
IF OBJECT_ID(N{text:queue_CopyPut}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_CopyPut} AS RETURN{end});
GO
ALTER PROCEDURE {queue_CopyPut}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Id UNIQUEIDENTIFIER,
    @Status TINYINT,
    @Topic NVARCHAR(255),
    @Payload NVARCHAR(MAX),
    @Headers NVARCHAR(MAX) = NULL,
    @CorrelationId NVARCHAR(255) = NULL,
    @OrderingKey NVARCHAR(255) = NULL,
    @UniqueKey NVARCHAR(255) = NULL,
    @CreatedAt BIGINT,
    @DueAt BIGINT,
    @ExpiresAt BIGINT = NULL,
    @NextAttemptAt BIGINT,
    @WorkExpiresAt BIGINT = NULL,
    @Attempts INT,
    @ClaimNumber BIGINT,
    @FinishedAt BIGINT = NULL,
    @Worker NVARCHAR(MAX) = NULL,
    @Reason NVARCHAR(MAX) = NULL
AS
BEGIN
{settings}
    DECLARE @held_until DATETIME2(3) = '9999-12-31';
    DECLARE @key NVARCHAR(256) = @UniqueKey + N'.';
    DECLARE @put TABLE (Seq BIGINT NOT NULL);
{call_begin}
    INSERT INTO {queue} (Id, Topic, Payload, Headers, CorrelationId, OrderingKey, CreatedAt, DueAt, ExpiresAt, Status, NextAttemptAt, RetryCount, ClaimNumber, OwnerToken, LockedUntil, OrderedKey, LastError, UniqueKey, ActiveKey)
    OUTPUT inserted.Seq INTO @put
    SELECT @Id, @Topic, @Payload, @Headers, @CorrelationId, @OrderingKey, {TimeOf}(@CreatedAt), {TimeOf}(@DueAt), {TimeOf}(CASE WHEN @Status = 0 THEN @WorkExpiresAt ELSE @ExpiresAt END), 1,
           {TimeOf}(@NextAttemptAt), @Attempts, @ClaimNumber, @OwnerToken, @held_until, CASE WHEN @Status = 0 THEN @OrderingKey + N'.' END, @Reason, @UniqueKey, CASE WHEN @Status = 0 THEN @key END
    WHERE NOT EXISTS (SELECT 1 FROM {queue} AS o WITH (READCOMMITTEDLOCK) WHERE o.Id = @Id)
      AND NOT EXISTS (SELECT 1 FROM {queue} AS u WITH (READCOMMITTEDLOCK) WHERE u.ActiveKey = @key AND u.ActiveKey IS NOT NULL AND @Status = 0);
    INSERT INTO {CopyItem} (Queue, Seq, Peer, IsDead, FinishedAt, FinishedBy, IsArrived, ExpiresAt)
    SELECT @Queue, p.Seq, @OwnerToken, CASE WHEN @Status = 0 THEN 0 ELSE 1 END, {TimeOf}(@FinishedAt), @Worker, 1, {TimeOf}(@ExpiresAt) FROM @put AS p;
{call_end}
    SELECT p.Seq FROM @put AS p;
END
