-- inbox_copy_remember: store a message that was done elsewhere, unless its key or its id is known here; its number.
IF OBJECT_ID(N{text:inbox_CopyRemember}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_CopyRemember} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_CopyRemember}
    @Id UNIQUEIDENTIFIER,
    @CorrelationId NVARCHAR(255) = NULL,
    @OrderingKey NVARCHAR(255) = NULL,
    @CreatedAt BIGINT,
    @DueAt BIGINT,
    @ExpiresAt BIGINT = NULL,
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
{inbox_key}
    DECLARE @finished DATETIME2(6) = {TimeOf}(@FinishedAt);
    DECLARE @put TABLE (Seq BIGINT NOT NULL);
    INSERT INTO {inbox} (Id, CorrelationId, OrderingKey, FirstSeenUtc, DueTimeUtc, ExpiresAt, Status, NextAttemptAt, Attempt, ClaimNumber, LastError, ProcessedUtc, ProcessedBy, Source, MessageId, Consumer, Widths, Hash, HashAlgorithm, LastSeenUtc)
    OUTPUT inserted.Seq INTO @put
    SELECT @Id, @CorrelationId, @OrderingKey, {TimeOf}(@CreatedAt), {TimeOf}(@DueAt), {TimeOf}(@ExpiresAt), 2, @finished, @Attempts, @ClaimNumber, @Reason, @finished, @Worker,
           @Source, @MessageId, @Consumer, @widths, CONVERT(VARBINARY(MAX), @Hash, 2), @HashAlgorithm, {TimeOf}(@LastSeen)
    WHERE NOT EXISTS (SELECT 1 FROM {inbox} AS o WITH (READCOMMITTEDLOCK) WHERE o.Id = @Id)
      AND NOT EXISTS (SELECT 1 FROM {inbox} AS k WITH (READCOMMITTEDLOCK) WHERE k.Source = @Source AND k.MessageId = @MessageId AND k.Consumer = @Consumer AND k.Widths = @widths);
    SELECT p.Seq FROM @put AS p;
END
