-- queue_copy_remove: those of @Seqs that the store @OwnerToken holds go, and are not on their way.
IF OBJECT_ID(N{text:queue_CopyRemove}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_CopyRemove} AS RETURN{end});
GO
ALTER PROCEDURE {queue_CopyRemove}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
{seqs}
{call_begin}
    DELETE m
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq JOIN {queue} AS m WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = i.Seq
    WHERE i.Peer = @OwnerToken AND m.Status = 1 AND m.OwnerToken = i.Peer;
    DELETE i
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq
    WHERE i.Peer = @OwnerToken;
{call_end}
END
