-- queue_remove_finished: the finished messages of the JSON array @Seqs go: with @Status 3 dead letters, else the others; which did.
IF OBJECT_ID(N{text:queue_RemoveFinished}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_RemoveFinished} AS RETURN{end});
GO
ALTER PROCEDURE {queue_RemoveFinished}
    @Seqs NVARCHAR(MAX),
    @Status TINYINT
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: apps' transactions go on
{seqs}
    DECLARE @gone TABLE (Seq BIGINT NOT NULL);
    DELETE m
    OUTPUT deleted.Seq INTO @gone
    FROM @seq AS s JOIN {queue} AS m WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = s.Seq
    WHERE m.Status IN (2, 3, 6, 7) AND ((m.Status = 3 AND @Status = 3) OR (m.Status <> 3 AND @Status <> 3));
    SELECT g.Seq FROM @gone AS g ORDER BY g.Seq;
END
