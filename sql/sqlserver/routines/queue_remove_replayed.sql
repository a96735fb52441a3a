-- queue_remove_replayed: what is known of their replays.
IF OBJECT_ID(N{text:queue_RemoveReplayed}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_RemoveReplayed} AS RETURN{end});
GO
ALTER PROCEDURE {queue_RemoveReplayed}
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
{seqs}
    DELETE r
    FROM {queue_Replayed} AS r
    WHERE r.Seq IN (SELECT s.Seq FROM @seq AS s);
END
