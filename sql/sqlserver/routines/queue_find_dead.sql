-- queue_find_dead: when they died, and their numbers, to change them in this transaction. Those that another transaction changes are left out.
IF OBJECT_ID(N{text:queue_FindDead}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_FindDead} AS RETURN{end});
GO
ALTER PROCEDURE {queue_FindDead}
    @Since BIGINT,
    @Number BIGINT,
    @Until BIGINT,
    @BatchSize BIGINT,
    @Topic NVARCHAR(255) = NULL,
    @Reason NVARCHAR(4000) = NULL,
    @Ids NVARCHAR(MAX) = NULL
AS
BEGIN
{settings}
    DECLARE @since_at DATETIME2(6) = {TimeOf}(@Since);
    DECLARE @until_at DATETIME2(6) = {TimeOf}(@Until);
    DECLARE @id TABLE (Id UNIQUEIDENTIFIER NOT NULL);
    INSERT INTO @id (Id)
    SELECT CAST(STUFF(STUFF(STUFF(STUFF(CAST(j.value AS NVARCHAR(32)), 9, 0, N'-'), 14, 0, N'-'), 19, 0, N'-'), 24, 0, N'-') AS UNIQUEIDENTIFIER) FROM OPENJSON(@Ids) AS j;
    SELECT TOP (@BatchSize) DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ProcessedAt), m.Seq
    FROM {queue} AS m WITH (READPAST, UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Failed))
    WHERE m.Status = 3 AND m.ProcessedAt >= @since_at AND (m.ProcessedAt > @since_at OR m.Seq > @Number) AND m.ProcessedAt <= @until_at
      AND (@Topic IS NULL OR (m.Topic = @Topic AND DATALENGTH(m.Topic) = DATALENGTH(@Topic)))
      AND (@Reason IS NULL OR CHARINDEX(@Reason COLLATE Latin1_General_BIN2, m.LastError COLLATE Latin1_General_BIN2) > 0)
      AND (@Ids IS NULL OR m.Id IN (SELECT i.Id FROM @id AS i))
    ORDER BY m.ProcessedAt, m.Seq;
END
