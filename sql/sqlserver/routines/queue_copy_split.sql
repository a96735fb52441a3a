-- queue_copy_split: those of them whose ordering key has one that is held by others, or was not taken and is before them. It waits for who is changing one of these.
IF OBJECT_ID(N{text:queue_CopySplit}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_CopySplit} AS RETURN{end});
GO
ALTER PROCEDURE {queue_CopySplit}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20),
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
{seqs}
    SELECT m.Seq
    FROM @seq AS s JOIN {CopyItem} AS i WITH (FORCESEEK) ON i.Queue = @Queue AND i.Seq = s.Seq JOIN {queue} AS m WITH (READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = i.Seq
    WHERE i.Peer = @OwnerToken AND m.OrderedKey IS NOT NULL
      AND EXISTS (SELECT 1 FROM {queue} AS o WITH (READCOMMITTEDLOCK, INDEX (IX_Ordered))
                  WHERE o.OrderedKey = m.OrderedKey AND o.OrderedKey IS NOT NULL AND (o.OwnerToken IS NULL OR o.OwnerToken <> @OwnerToken)
                    AND (o.Status = 1 OR o.Seq < m.Seq));
END
