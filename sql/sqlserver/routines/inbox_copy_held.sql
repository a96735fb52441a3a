-- queue_copy_held: those of @Seqs that are held for the store @OwnerToken; nobody else can change that now. And when they were last seen.
IF OBJECT_ID(N{text:inbox_CopyHeld}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_CopyHeld} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_CopyHeld}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: the move begins anew, and apps' transactions go on
{seqs}
    DECLARE @held TABLE (Seq BIGINT NOT NULL, LastSeenUtc DATETIME2(6) NOT NULL);
    -- They are written as they were, for that locks everywhere.
    UPDATE m
    SET LockedUntil = m.LockedUntil
    OUTPUT inserted.Seq, inserted.LastSeenUtc INTO @held
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq JOIN {queue} AS m WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = i.Seq
    WHERE i.Peer = @OwnerToken AND m.Status = 1 AND m.OwnerToken = i.Peer;
    SELECT h.Seq, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), h.LastSeenUtc) FROM @held AS h ORDER BY h.Seq;
END
