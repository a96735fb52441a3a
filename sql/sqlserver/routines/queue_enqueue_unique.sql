-- queue_enqueue_unique: store one message unless an unfinished one has its unique key; its id, if it was. Waits for a transaction that is storing the same key.
IF OBJECT_ID(N{text:queue_EnqueueUnique}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_EnqueueUnique} AS RETURN{end});
GO
ALTER PROCEDURE {queue_EnqueueUnique}
    @Topic NVARCHAR(255),
    @Payload NVARCHAR(MAX),
    @UniqueKey NVARCHAR(255),
    @Headers NVARCHAR(MAX) = NULL,
    @CorrelationId NVARCHAR(255) = NULL,
    @OrderingKey NVARCHAR(255) = NULL,
    @DueAt BIGINT = NULL,
    @Delay BIGINT = 0,
    @ExpiresAt BIGINT = NULL,
    @Id UNIQUEIDENTIFIER = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @due DATETIME2(6) = {TimeOf}(COALESCE(@DueAt, @now_us + @Delay));
    DECLARE @key NVARCHAR(256) = @UniqueKey + N'.';
    DECLARE @stored TABLE (Id UNIQUEIDENTIFIER NOT NULL);
    BEGIN TRY
        INSERT INTO {queue} (Id, Topic, Payload, Headers, CorrelationId, OrderingKey, UniqueKey, CreatedAt, DueAt, ExpiresAt, NextAttemptAt, OrderedKey, ActiveKey)
        OUTPUT inserted.Id INTO @stored
        SELECT COALESCE(@Id, NEWID()), @Topic, @Payload, @Headers, @CorrelationId, @OrderingKey, @UniqueKey, @now_at, @due, {TimeOf}(@ExpiresAt), @due, @OrderingKey + N'.', @key
        WHERE NOT EXISTS (SELECT 1 FROM {queue} AS u WITH (READCOMMITTEDLOCK, FORCESEEK) WHERE u.ActiveKey = @key AND u.ActiveKey IS NOT NULL);
    END TRY
    BEGIN CATCH
        IF ERROR_NUMBER() NOT IN (2601, 2627) OR XACT_STATE() = -1
            THROW;
    END CATCH
    SELECT CONVERT(CHAR(36), s.Id) FROM @stored AS s;
END
