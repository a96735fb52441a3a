-- inbox_copy_memory: the next @BatchSize messages behind the one @Number that were done, at @Since or later, as queue_copy_read gives others; without topic, payload and headers.
IF OBJECT_ID(N{text:inbox_CopyMemory}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_CopyMemory} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_CopyMemory}
    @Number BIGINT,
    @Since BIGINT,
    @BatchSize BIGINT
AS
BEGIN
{settings}
    DECLARE @since_at DATETIME2(6) = {TimeOf}(@Since);
    SELECT TOP (@BatchSize) m.Seq, CONVERT(CHAR(36), m.Id), 2, m.Attempt, m.ClaimNumber, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ProcessedUtc), CAST(NULL AS BIGINT), m.LastError,
           DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ProcessedUtc), m.ProcessedBy, CAST(NULL AS NVARCHAR(255)), CAST(NULL AS NVARCHAR(MAX)), CAST(NULL AS NVARCHAR(MAX)), m.CorrelationId, m.OrderingKey,
           DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.FirstSeenUtc), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.DueTimeUtc), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ExpiresAt), m.Source, m.MessageId, m.Consumer, LOWER(CONVERT(NVARCHAR(2048), m.Hash, 2)), m.HashAlgorithm, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.LastSeenUtc)
    FROM {inbox} AS m
    WHERE m.Seq > @Number AND m.Status = 2 AND m.ProcessedUtc >= @since_at
    ORDER BY m.Seq;
END
