-- queue_copy_take: hold the messages @Seqs for the store @OwnerToken, those that nobody holds, and note them. Without a running key, which only one may have.
IF OBJECT_ID(N{text:queue_CopyTake}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_CopyTake} AS RETURN{end});
GO
ALTER PROCEDURE {queue_CopyTake}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: the move begins anew, and apps' transactions go on
{seqs}
    DECLARE @held_until DATETIME2(3) = '9999-12-31';
    DECLARE @held TABLE (Seq BIGINT NOT NULL);
{call_begin}
    UPDATE m
    SET Status = 1, OwnerToken = @OwnerToken, LockedUntil = @held_until, RunningKey = NULL
    OUTPUT inserted.Seq INTO @held
    FROM @seq AS s JOIN {queue} AS m WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = s.Seq
    WHERE m.Status = 0; -- what another transaction has locked is for the next pass, and copy_split sees to the rest of its key
    INSERT INTO {CopyItem} (Queue, Seq, Peer, IsDead, IsArrived)
    SELECT @Queue, h.Seq, @OwnerToken, 0, 0 FROM @held AS h;
{call_end}
END
