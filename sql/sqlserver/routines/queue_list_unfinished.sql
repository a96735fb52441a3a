-- queue_list_unfinished: up to @BatchSize unfinished messages after the one @Number, of a topic or of all, in the order in which they came. Payloads only if @Payloads is 1, or else, as the last column, their lengths.
IF OBJECT_ID(N{text:queue_ListUnfinished}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_ListUnfinished} AS RETURN{end});
GO
ALTER PROCEDURE {queue_ListUnfinished}
    @Number BIGINT,
    @BatchSize BIGINT,
    @Topic NVARCHAR(255) = NULL,
    @Payloads BIT = 1
AS
BEGIN
{settings}
    -- By the indexes of what is unfinished: the table itself has all that was ever done.
    SELECT TOP (@BatchSize) m.Seq, m.RetryCount, m.ClaimNumber, CONVERT(CHAR(36), m.Id),
           m.Topic, CASE WHEN @Payloads = 1 THEN m.Payload END, m.Headers, m.CorrelationId, m.OrderingKey, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.CreatedAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.DueAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ExpiresAt),
           CASE WHEN m.Status = 0 AND m.OrderedKey IS NOT NULL
                 AND EXISTS (SELECT 1 FROM {queue} AS e WHERE e.OrderedKey = m.OrderedKey AND e.OrderedKey IS NOT NULL AND (e.Seq < m.Seq OR e.Status = 1))
                THEN 4 ELSE m.Status END,
           DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.NextAttemptAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.LockedUntil),
           CAST(NULL AS BIGINT), CAST(NULL AS NVARCHAR(MAX)), m.LastError{columns}, CASE WHEN @Payloads = 0 THEN {BytesOf}(m.Payload) END
    FROM (SELECT w.Seq FROM {queue} AS w WITH (INDEX (IX_WorkQueue))
          WHERE w.Status = 0 AND w.OrderedKey IS NULL AND w.Seq > @Number AND (@Topic IS NULL OR (w.Topic = @Topic AND DATALENGTH(w.Topic) = DATALENGTH(@Topic)))
          UNION
          SELECT w.Seq FROM {queue} AS w WITH (INDEX (IX_Ordered))
          WHERE w.OrderedKey IS NOT NULL AND w.Seq > @Number AND (@Topic IS NULL OR (w.Topic = @Topic AND DATALENGTH(w.Topic) = DATALENGTH(@Topic)))
          UNION
          SELECT w.Seq FROM {queue} AS w WITH (INDEX (IX_Leased))
          WHERE w.Status = 1 AND w.Seq > @Number AND (@Topic IS NULL OR (w.Topic = @Topic AND DATALENGTH(w.Topic) = DATALENGTH(@Topic)))) AS a
    JOIN {queue} AS m ON m.Seq = a.Seq
    WHERE m.Status IN (0, 1)
    ORDER BY m.Seq;
END
