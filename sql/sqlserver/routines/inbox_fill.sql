-- inbox_fill: give the message @Number the values that it came with this time. Its ordering key stays while it is unfinished.
IF OBJECT_ID(N{text:inbox_Fill}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_Fill} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_Fill}
    @Number BIGINT,
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
    UPDATE m
    SET Topic = @Topic, Payload = @Payload, Headers = @Headers, CorrelationId = @CorrelationId,
        OrderingKey = CASE WHEN m.Status IN (0, 1) THEN m.OrderingKey ELSE @OrderingKey END,
        Hash = CONVERT(VARBINARY(MAX), @Hash, 2), HashAlgorithm = @HashAlgorithm, ExpiresAt = {TimeOf}(@ExpiresAt),
        DueTimeUtc = {TimeOf}(COALESCE(@DueAt, @now_us + @Delay))
    FROM {inbox} AS m WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE m.Seq = @Number;
END
