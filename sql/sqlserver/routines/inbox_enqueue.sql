-- inbox_enqueue: store a message unless it is known; its id, number, hash and, unless it is new, its state. Waits for a transaction that is storing the same message.
IF OBJECT_ID(N{text:inbox_Enqueue}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_Enqueue} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_Enqueue}
    @Id UNIQUEIDENTIFIER,
    @Source NVARCHAR(255),
    @MessageId NVARCHAR(255),
    @Consumer NVARCHAR(255),
    @Topic NVARCHAR(255),
    @Payload NVARCHAR(MAX),
    @Headers NVARCHAR(MAX) = NULL,
    @CorrelationId NVARCHAR(255) = NULL,
    @OrderingKey NVARCHAR(255) = NULL,
    @Hash NVARCHAR(2048) = NULL,
    @HashAlgorithm NVARCHAR(255) = NULL,
    @DueAt BIGINT = NULL,
    @Delay BIGINT = 0,
    @ExpiresAt BIGINT = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
{inbox_key}
{inbox_arrived}
    DECLARE @due DATETIME2(6) = {TimeOf}(COALESCE(@DueAt, @now_us + @Delay));
    -- Whoever finds the message changes its row, and waits for who stores it; whoever does not, stores it, and may find that another was faster.
    -- That is one change, which needs no transaction of ours: a client that gives up while it waits leaves none open.
    WHILE @tries < 3
    BEGIN
        SET @tries = @tries + 1;
        BEGIN TRY
            UPDATE m
            SET LastSeenUtc = @now_at
            OUTPUT inserted.Id, inserted.Seq, inserted.Hash, inserted.HashAlgorithm, inserted.Status, inserted.LockedUntil
            INTO @arrived
            FROM {inbox} AS m WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
            WHERE m.Source = @Source AND m.MessageId = @MessageId AND m.Consumer = @Consumer AND m.Widths = @widths;
            IF @@ROWCOUNT > 0
                BREAK;
            INSERT INTO {inbox} (Id, Source, MessageId, Consumer, Widths, Topic, Payload, Headers, CorrelationId, OrderingKey, Hash, HashAlgorithm,
                FirstSeenUtc, LastSeenUtc, DueTimeUtc, ExpiresAt, NextAttemptAt, OrderedKey)
            OUTPUT inserted.Id, inserted.Seq, inserted.Hash, inserted.HashAlgorithm, inserted.Status, inserted.LockedUntil
            INTO @arrived
            VALUES (@Id, @Source, @MessageId, @Consumer, @widths, @Topic, @Payload, @Headers, @CorrelationId, @OrderingKey, CONVERT(VARBINARY(MAX), @Hash, 2), @HashAlgorithm,
                @now_at, @now_at, @due, {TimeOf}(@ExpiresAt), @due, @OrderingKey + N'.');
            BREAK;
        END TRY
        BEGIN CATCH
            IF ERROR_NUMBER() NOT IN (2601, 2627) OR XACT_STATE() = -1 OR @tries = 3
                THROW;
        END CATCH;
    END;
{inbox_tell}
END
