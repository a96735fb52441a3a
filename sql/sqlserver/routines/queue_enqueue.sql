-- queue_enqueue: store one message.
IF OBJECT_ID(N{text:queue_Enqueue}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Enqueue} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Enqueue}
    @Topic NVARCHAR(255),
    @Payload NVARCHAR(MAX),
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
    INSERT INTO {queue} (Id, Topic, Payload, Headers, CorrelationId, OrderingKey, CreatedAt, DueAt, ExpiresAt, NextAttemptAt, OrderedKey)
    VALUES (COALESCE(@Id, NEWID()), @Topic, @Payload, @Headers, @CorrelationId, @OrderingKey, @now_at, @due, {TimeOf}(@ExpiresAt), @due, @OrderingKey + N'.');
END
