-- queue_replay: make the dead letters of the JSON array @Seqs ready again, with no attempts, one after the other in steps of @Delay us from the @Count-th on, and note it; which were. One whose unique key is taken stays dead.
IF OBJECT_ID(N{text:queue_Replay}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Replay} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Replay}
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
    DECLARE @turn TABLE (Seq BIGINT NOT NULL PRIMARY KEY, Place INT NOT NULL, ReadyAt DATETIME2(6) NOT NULL);
    DECLARE @dead TABLE (Seq BIGINT NOT NULL PRIMARY KEY, Turn INT NOT NULL, DeadKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL, ReadyAt DATETIME2(6) NOT NULL, RetryCount INT NOT NULL, ProcessedAt DATETIME2(6) NOT NULL, LastError NVARCHAR(MAX) NULL);
    INSERT INTO @turn (Seq, Place, ReadyAt) SELECT s.Seq, s.Place, {TimeOf}(@now_us + (s.Place + @Count) * @Delay) FROM @seq AS s;
{call_begin}
    -- Turn: of those that have one unique key, the first.
    INSERT INTO @dead (Seq, Turn, DeadKey, ReadyAt, RetryCount, ProcessedAt, LastError)
    SELECT m.Seq, ROW_NUMBER() OVER (PARTITION BY m.UniqueKey + N'.' ORDER BY t.Place), m.UniqueKey + N'.', t.ReadyAt, m.RetryCount, m.ProcessedAt, m.LastError
    FROM @turn AS t JOIN {queue} AS m WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = t.Seq
    WHERE m.Status = 3;
    DELETE d FROM @dead AS d WHERE d.Turn > 1 AND d.DeadKey IS NOT NULL;
    DELETE d
    FROM @dead AS d
    WHERE EXISTS (SELECT 1 FROM {queue} AS u WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE u.ActiveKey = d.DeadKey AND u.ActiveKey IS NOT NULL)
    OPTION (LOOP JOIN);
    UPDATE m
    SET Status = 0, RetryCount = 0, NextAttemptAt = d.ReadyAt, ProcessedAt = NULL, ProcessedBy = NULL, OrderedKey = m.OrderingKey + N'.', ActiveKey = d.DeadKey,
        ExpiresAt = CASE WHEN m.ExpiresAt > @now_at THEN m.ExpiresAt END
    FROM @dead AS d JOIN {queue} AS m WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = d.Seq
    WHERE m.Status = 3;
    INSERT INTO {queue_Replayed} (Seq, ReplayedAt, ReplayedBy, RetryCount, ProcessedAt, LastError)
    SELECT d.Seq, @now_at, @Worker, d.RetryCount, d.ProcessedAt, d.LastError FROM @dead AS d;
{call_end}
    SELECT d.Seq FROM @dead AS d ORDER BY d.Seq;
END
