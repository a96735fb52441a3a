-- queue_copy_free: nobody holds those of @Seqs any more that the store @OwnerToken held: they are work, or dead letters, as ever, and not on their way.
IF OBJECT_ID(N{text:queue_CopyFree}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_CopyFree} AS RETURN{end});
GO
ALTER PROCEDURE {queue_CopyFree}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
{seqs}
{call_begin}
    UPDATE m
    SET Status = CASE WHEN i.IsDead = 1 THEN 3 ELSE 0 END, OwnerToken = NULL, LockedUntil = NULL, RunningKey = NULL,
        ProcessedAt = CASE WHEN i.IsDead = 1 THEN i.FinishedAt END, ProcessedBy = CASE WHEN i.IsDead = 1 THEN i.FinishedBy END
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq JOIN {queue} AS m WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = i.Seq
    WHERE i.Peer = @OwnerToken AND m.Status = 1 AND m.OwnerToken = i.Peer;
    DELETE i
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq
    WHERE i.Peer = @OwnerToken;
{call_end}
END
