-- queue_copy_put: store a message that comes from another store, unless its key or its id is known here; its number. It is held for the store @OwnerToken.
IF OBJECT_ID(N{text:inbox_CopyPut}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_CopyPut} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_CopyPut}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Id UNIQUEIDENTIFIER,
    @Status TINYINT,
    @Topic NVARCHAR(255) = NULL,
    @Payload NVARCHAR(MAX) = NULL,
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
    @Source NVARCHAR(255),
    @MessageId NVARCHAR(255),
    @Consumer NVARCHAR(255),
    @Hash NVARCHAR(2048) = NULL,
    @HashAlgorithm NVARCHAR(255) = NULL,
    @LastSeen BIGINT
AS
BEGIN
{settings}
    DECLARE @held_until DATETIME2(3) = '9999-12-31';
{inbox_key}
    DECLARE @put TABLE (Seq BIGINT NOT NULL);
{call_begin}
    INSERT INTO {queue} (Id, Topic, Payload, Headers, CorrelationId, OrderingKey, CreatedAt, DueAt, ExpiresAt, Status, NextAttemptAt, RetryCount, ClaimNumber, OwnerToken, LockedUntil, OrderedKey, LastError, Source, MessageId, Consumer, Widths, Hash, HashAlgorithm, LastSeenUtc)
    OUTPUT inserted.Seq INTO @put
    SELECT @Id, @Topic, @Payload, @Headers, @CorrelationId, @OrderingKey, {TimeOf}(@CreatedAt), {TimeOf}(@DueAt), {TimeOf}(CASE WHEN @Status = 0 THEN @WorkExpiresAt ELSE @ExpiresAt END), 1,
           {TimeOf}(@NextAttemptAt), @Attempts, @ClaimNumber, @OwnerToken, @held_until, CASE WHEN @Status = 0 THEN @OrderingKey + N'.' END, @Reason, @Source, @MessageId, @Consumer, @widths, CONVERT(VARBINARY(MAX), @Hash, 2), @HashAlgorithm, {TimeOf}(@LastSeen)
    WHERE NOT EXISTS (SELECT 1 FROM {queue} AS o WITH (READCOMMITTEDLOCK) WHERE o.Id = @Id)
      AND NOT EXISTS (SELECT 1 FROM {queue} AS k WITH (READCOMMITTEDLOCK) WHERE k.Source = @Source AND k.MessageId = @MessageId AND k.Consumer = @Consumer AND k.Widths = @widths);
    INSERT INTO {CopyItem} (Queue, Seq, Peer, IsDead, FinishedAt, FinishedBy, IsArrived, ExpiresAt)
    SELECT @Queue, p.Seq, @OwnerToken, CASE WHEN @Status = 0 THEN 0 ELSE 1 END, {TimeOf}(@FinishedAt), @Worker, 1, {TimeOf}(@ExpiresAt) FROM @put AS p;
{call_end}
    SELECT p.Seq FROM @put AS p;
END
