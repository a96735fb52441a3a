-- queue_copy_hold_dead: hold the dead letters @Seqs for the store @OwnerToken, as if they were being worked on, and note them with what they do not hold then.
IF OBJECT_ID(N{text:queue_CopyHoldDead}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_CopyHoldDead} AS RETURN{end});
GO
ALTER PROCEDURE {queue_CopyHoldDead}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
{seqs}
    DECLARE @held_until DATETIME2(3) = '9999-12-31';
    DECLARE @held TABLE (Seq BIGINT NOT NULL, FinishedAt DATETIME2(6) NULL, FinishedBy NVARCHAR(MAX) NULL);
{call_begin}
    UPDATE m
    SET Status = 1, OwnerToken = @OwnerToken, LockedUntil = @held_until
    OUTPUT inserted.Seq, inserted.ProcessedAt, inserted.ProcessedBy INTO @held
    FROM @seq AS s JOIN {queue} AS m WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = s.Seq
    WHERE m.Status = 3;
    INSERT INTO {CopyItem} (Queue, Seq, Peer, IsDead, FinishedAt, FinishedBy, IsArrived)
    SELECT @Queue, h.Seq, @OwnerToken, 1, h.FinishedAt, h.FinishedBy, 0 FROM @held AS h;
    UPDATE m
    SET ProcessedAt = NULL, ProcessedBy = NULL
    FROM @held AS h JOIN {queue} AS m WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = h.Seq
    WHERE m.Status = 1 AND m.OwnerToken = @OwnerToken;
{call_end}
END
