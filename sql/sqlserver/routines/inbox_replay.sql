-- inbox_replay: make the dead letters of the JSON array @Seqs ready again (only seen, if they never came with a topic), with no attempts, one after the other in steps of @Delay us from the @Count-th on, and not before their due times, and note it; which were.
IF OBJECT_ID(N{text:inbox_Replay}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_Replay} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_Replay}
    @Seqs NVARCHAR(MAX),
    @Count BIGINT = 0,
    @Delay BIGINT = 0,
    @Worker NVARCHAR(MAX) = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
{seqs}
    DECLARE @turn TABLE (Seq BIGINT NOT NULL PRIMARY KEY, ReadyAt DATETIME2(6) NOT NULL);
    DECLARE @held TABLE (Seq BIGINT NOT NULL PRIMARY KEY, ReadyAt DATETIME2(6) NOT NULL, RetryCount INT NOT NULL, ProcessedAt DATETIME2(6) NOT NULL, LastError NVARCHAR(MAX) NULL);
    INSERT INTO @turn (Seq, ReadyAt) SELECT s.Seq, {TimeOf}(@now_us + (s.Place + @Count) * @Delay) FROM @seq AS s;
{call_begin}
    INSERT INTO @held (Seq, ReadyAt, RetryCount, ProcessedAt, LastError)
    SELECT m.Seq, CASE WHEN t.ReadyAt > m.DueAt THEN t.ReadyAt ELSE m.DueAt END, m.RetryCount, m.ProcessedAt, m.LastError
    FROM @turn AS t JOIN {inbox} AS m WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = t.Seq
    WHERE m.Status = 3;
    UPDATE m
    SET Status = CASE WHEN m.Topic IS NULL THEN 5 ELSE 0 END, RetryCount = 0, ProcessedAt = NULL, ProcessedBy = NULL, OrderedKey = m.OrderingKey + N'.', NextAttemptAt = h.ReadyAt,
        ExpiresAt = CASE WHEN m.ExpiresAt > @now_at THEN m.ExpiresAt END
    FROM @held AS h JOIN {inbox} AS m WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = h.Seq
    WHERE m.Status = 3;
    INSERT INTO {inbox_Replayed} (Seq, ReplayedAt, ReplayedBy, RetryCount, ProcessedAt, LastError)
    SELECT h.Seq, @now_at, @Worker, h.RetryCount, h.ProcessedAt, h.LastError FROM @held AS h;
{call_end}
    SELECT h.Seq FROM @held AS h ORDER BY h.Seq;
END
