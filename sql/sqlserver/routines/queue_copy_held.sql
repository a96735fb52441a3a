-- queue_copy_held: those of @Seqs that are held for the store @OwnerToken; nobody else can change that now.
IF OBJECT_ID(N{text:queue_CopyHeld}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_CopyHeld} AS RETURN{end});
GO
ALTER PROCEDURE {queue_CopyHeld}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: the move begins anew, and apps' transactions go on
{seqs}
    DECLARE @held TABLE (Seq BIGINT NOT NULL);
    -- They are written as they were, for that locks everywhere.
    UPDATE m
    SET LockedUntil = m.LockedUntil
    OUTPUT inserted.Seq INTO @held
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq JOIN {queue} AS m WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = i.Seq
    WHERE i.Peer = @OwnerToken AND m.Status = 1 AND m.OwnerToken = i.Peer;
    SELECT h.Seq, 0 FROM @held AS h ORDER BY h.Seq;
END
