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
    DECLARE @held TABLE (Seq BIGINT NOT NULL, RetryCount INT NOT NULL, ProcessedAt DATETIME2(6) NOT NULL, LastError NVARCHAR(MAX) NULL);
{call_begin}
    UPDATE m
    SET Status = 0, RetryCount = 0, NextAttemptAt = {TimeOf}(@now_us + ((SELECT s.Place FROM @seq AS s WHERE s.Seq = m.Seq) + @Count) * @Delay), ProcessedAt = NULL, ProcessedBy = NULL, OrderedKey = m.OrderingKey + N'.', ActiveKey = m.UniqueKey + N'.',
        ExpiresAt = CASE WHEN m.ExpiresAt > @now_at THEN m.ExpiresAt END
    OUTPUT inserted.Seq, deleted.RetryCount, deleted.ProcessedAt, deleted.LastError INTO @held
    FROM {queue} AS m WITH (ROWLOCK)
    WHERE m.Status = 3 AND m.Seq IN (SELECT s.Seq FROM @seq AS s)
      AND NOT EXISTS (SELECT 1 FROM {queue} AS u WITH (UPDLOCK, HOLDLOCK, ROWLOCK) WHERE u.ActiveKey = m.UniqueKey + N'.' AND u.ActiveKey IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM @seq AS b JOIN {queue} AS e ON e.Seq = b.Seq
                      WHERE e.Status = 3 AND e.UniqueKey + N'.' = m.UniqueKey + N'.' AND b.Place < (SELECT s.Place FROM @seq AS s WHERE s.Seq = m.Seq));
    INSERT INTO {queue_Replayed} (Seq, ReplayedAt, ReplayedBy, RetryCount, ProcessedAt, LastError)
    SELECT h.Seq, @now_at, @Worker, h.RetryCount, h.ProcessedAt, h.LastError FROM @held AS h;
{call_end}
    SELECT h.Seq FROM @held AS h ORDER BY h.Seq;
END
