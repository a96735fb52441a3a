-- queue_copy_split: those of them whose ordering key has one that is held by others, or was not taken and is before them. It waits for who is changing one before them, or running one, but not for who adds one behind them.
IF OBJECT_ID(N{text:queue_CopySplit}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_CopySplit} AS RETURN{end});
GO
ALTER PROCEDURE {queue_CopySplit}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: the move begins anew, and apps' transactions go on
{seqs}
    SELECT m.Seq
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq JOIN {queue} AS m WITH (READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = i.Seq
    WHERE i.Peer = @OwnerToken AND m.OrderedKey IS NOT NULL
      AND (EXISTS (SELECT 1 FROM {queue} AS o WITH (READCOMMITTEDLOCK, INDEX (IX_Ordered))
                   WHERE o.OrderedKey = m.OrderedKey AND o.OrderedKey IS NOT NULL AND o.Seq < m.Seq AND (o.OwnerToken IS NULL OR o.OwnerToken <> @OwnerToken))
           OR EXISTS (SELECT 1 FROM {queue} AS r WITH (READCOMMITTEDLOCK, INDEX (UX_Running)) WHERE r.RunningKey = m.OrderedKey AND r.RunningKey IS NOT NULL)
           OR EXISTS (SELECT 1 FROM {queue} AS h WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Ordered))
                      WHERE h.OrderedKey = m.OrderedKey AND h.OrderedKey IS NOT NULL AND (h.OwnerToken IS NULL OR h.OwnerToken <> @OwnerToken)
                        AND h.Status = 1));
END
