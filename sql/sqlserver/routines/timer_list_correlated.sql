-- timer_list_correlated: timers with a correlation id after the one @Number, in the order in which they were scheduled. Payloads only if @Payloads is 1, or else, as the last column, their lengths.
IF OBJECT_ID(N{text:Timers_ListCorrelated}) IS NULL EXEC (N{body}CREATE PROCEDURE {Timers_ListCorrelated} AS RETURN{end});
GO
ALTER PROCEDURE {Timers_ListCorrelated}
    @CorrelationId NVARCHAR(255),
    @Number BIGINT,
    @BatchSize BIGINT,
    @Payloads BIT = 1
AS
BEGIN
{settings}
    SELECT TOP (@BatchSize) m.Seq, m.RetryCount, m.ClaimNumber, CONVERT(CHAR(36), m.Id),
           m.Topic, CASE WHEN @Payloads = 1 THEN m.Payload END, m.Headers, m.CorrelationId, m.OrderingKey, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.CreatedAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.DueTime), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ExpiresAt),
           CASE WHEN m.StatusCode = 0 AND m.OrderedKey IS NOT NULL
                 AND EXISTS (SELECT 1 FROM {Timers} AS e WHERE e.OrderedKey = m.OrderedKey AND e.OrderedKey IS NOT NULL AND (e.Seq < m.Seq OR e.StatusCode = 1))
                THEN 4 ELSE m.StatusCode END,
           CASE WHEN m.StatusCode IN (0, 1) THEN DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.NextAttemptAt) END, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.LockedUntil), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ProcessedAt), m.ProcessedBy, m.LastError, CASE WHEN @Payloads = 0 THEN {BytesOf}(m.Payload) END
    FROM {Timers} AS m
    WHERE m.CorrelationId = @CorrelationId AND m.CorrelationId IS NOT NULL AND DATALENGTH(m.CorrelationId) = DATALENGTH(@CorrelationId) AND m.Seq > @Number
    ORDER BY m.Seq;
END
