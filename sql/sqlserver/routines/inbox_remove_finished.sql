-- inbox_remove_finished: the messages of the JSON array @Seqs go, unless they are unfinished or, if they are done, have arrived since; which did. Whoever is storing one keeps it; who comes later waits.
IF OBJECT_ID(N{text:inbox_RemoveFinished}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_RemoveFinished} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_RemoveFinished}
    @Seqs NVARCHAR(MAX),
    @Status TINYINT,
    @Delay BIGINT = 0,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: apps' transactions go on
{now}
{seqs}
    DECLARE @old DATETIME2(6) = {TimeOf}(@now_us - @Delay);
    DECLARE @gone TABLE (Seq BIGINT NOT NULL);
    DELETE m
    OUTPUT deleted.Seq INTO @gone
    FROM @seq AS s JOIN {inbox} AS m WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.Seq = s.Seq
    WHERE (m.Status = 3 AND @Status = 3) OR (m.Status = 2 AND @Status <> 3 AND m.LastSeenUtc <= @old);
    SELECT g.Seq FROM @gone AS g ORDER BY g.Seq;
END
