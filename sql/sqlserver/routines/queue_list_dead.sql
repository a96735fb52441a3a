-- queue_list_dead: up to @BatchSize dead letters after (@Since, @Number), those that died first first. @Ids: JSON, without hyphens. Payloads only if @Payloads is 1, or else, as the last column, their lengths.
IF OBJECT_ID(N{text:queue_ListDead}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_ListDead} AS RETURN{end});
GO
ALTER PROCEDURE {queue_ListDead}
    @Since BIGINT,
    @Number BIGINT,
    @Until BIGINT,
    @BatchSize BIGINT,
    @Topic NVARCHAR(255) = NULL,
    @Reason NVARCHAR(4000) = NULL,
    @Ids NVARCHAR(MAX) = NULL,
    @Payloads BIT = 1
AS
BEGIN
{settings}
    DECLARE @since_at DATETIME2(6) = {TimeOf}(@Since);
    DECLARE @until_at DATETIME2(6) = {TimeOf}(@Until);
    DECLARE @id TABLE (Id UNIQUEIDENTIFIER NOT NULL);
    INSERT INTO @id (Id)
    SELECT CAST(STUFF(STUFF(STUFF(STUFF(CAST(j.value AS NVARCHAR(32)), 9, 0, N'-'), 14, 0, N'-'), 19, 0, N'-'), 24, 0, N'-') AS UNIQUEIDENTIFIER) FROM OPENJSON(@Ids) AS j;
    SELECT TOP (@BatchSize) m.Seq, m.RetryCount, m.ClaimNumber, CONVERT(CHAR(36), m.Id),
           m.Topic, CASE WHEN @Payloads = 1 THEN m.Payload END, m.Headers, m.CorrelationId, m.OrderingKey, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.CreatedAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.DueAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ExpiresAt),
           m.Status, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ProcessedAt), m.ProcessedBy, m.LastError{columns}, CASE WHEN @Payloads = 0 THEN {BytesOf}(m.Payload) END
    FROM {queue} AS m WITH (INDEX (IX_Failed))
    WHERE m.Status = 3 AND m.ProcessedAt >= @since_at AND (m.ProcessedAt > @since_at OR m.Seq > @Number) AND m.ProcessedAt <= @until_at
      AND (@Topic IS NULL OR (m.Topic = @Topic AND DATALENGTH(m.Topic) = DATALENGTH(@Topic)))
      AND (@Reason IS NULL OR CHARINDEX(@Reason COLLATE Latin1_General_BIN2, m.LastError COLLATE Latin1_General_BIN2) > 0)
      AND (@Ids IS NULL OR m.Id IN (SELECT i.Id FROM @id AS i))
    ORDER BY m.ProcessedAt, m.Seq;
END
