-- queue_remove_replayed: what is known of their replays.
IF OBJECT_ID(N{text:queue_RemoveReplayed}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_RemoveReplayed} AS RETURN{end});
GO
ALTER PROCEDURE {queue_RemoveReplayed}
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: apps' transactions go on
{seqs}
    DELETE r
    FROM @seq AS s JOIN {queue_Replayed} AS r WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON r.Seq = s.Seq;
END
