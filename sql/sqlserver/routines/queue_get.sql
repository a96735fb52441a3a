-- queue_get: one message with its state.
IF OBJECT_ID(N{text:queue_Get}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Get} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Get}
    @Id UNIQUEIDENTIFIER
AS
BEGIN
{settings}
    SELECT m.Seq, m.RetryCount, m.ClaimNumber, CONVERT(CHAR(36), m.Id),
           m.Topic, m.Payload, m.Headers, m.CorrelationId, m.OrderingKey, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.CreatedAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.DueAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ExpiresAt),
           CASE WHEN m.Status = 0 AND m.OrderedKey IS NOT NULL
                 AND EXISTS (SELECT 1 FROM {queue} AS e WHERE e.OrderedKey = m.OrderedKey AND e.OrderedKey IS NOT NULL AND (e.Seq < m.Seq OR e.Status = 1))
                THEN 4 ELSE m.Status END,
           CASE WHEN m.Status IN (0, 1) THEN DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.NextAttemptAt) END,
           DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.LockedUntil), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ProcessedAt), m.ProcessedBy, m.LastError{columns}
    FROM {queue} AS m WITH (FORCESEEK)
    WHERE m.Id = @Id;
END
