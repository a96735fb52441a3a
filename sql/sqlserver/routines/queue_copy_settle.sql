-- queue_copy_settle: those of @Seqs that the store @OwnerToken holds are done here, and known as such, and not on their way.
IF OBJECT_ID(N{text:queue_CopySettle}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_CopySettle} AS RETURN{end});
GO
ALTER PROCEDURE {queue_CopySettle}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Seqs NVARCHAR(MAX),
    @Worker NVARCHAR(MAX) = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
{seqs}
{call_begin}
    UPDATE m
    SET Status = 2, OwnerToken = NULL, LockedUntil = NULL, OrderedKey = NULL, RunningKey = NULL,{unique} ProcessedAt = @now_at, ProcessedBy = @Worker
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq JOIN {queue} AS m WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = i.Seq
    WHERE i.Peer = @OwnerToken AND m.Status = 1 AND m.OwnerToken = i.Peer;
    DELETE i
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq
    WHERE i.Peer = @OwnerToken;
{call_end}
END
