-- queue_copy_held: those of @Seqs that are held for the store @OwnerToken; nobody else can change that now. And when they were asked to end, or 0.
IF OBJECT_ID(N{text:JobRuns_CopyHeld}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_CopyHeld} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_CopyHeld}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: the move begins anew, and apps' transactions go on
{seqs}
    DECLARE @held TABLE (Seq BIGINT NOT NULL, CancelAt DATETIME2(6) NULL);
    -- They are written as they were, for that locks everywhere.
    UPDATE m
    SET LockedUntil = m.LockedUntil
    OUTPUT inserted.Seq, inserted.CancelAt INTO @held
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq JOIN {queue} AS m WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = i.Seq
    WHERE i.Peer = @OwnerToken AND m.Status = 1 AND m.OwnerToken = i.Peer;
    SELECT h.Seq, COALESCE(CASE WHEN NOT EXISTS (SELECT 1 FROM {JobRuns_Replayed} AS p WHERE p.Seq = h.Seq AND p.ReplayedAt >= h.CancelAt) THEN DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), h.CancelAt) END, 0)
    FROM @held AS h
    ORDER BY h.Seq;
END
