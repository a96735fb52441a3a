-- queue_tell_dead: what is to be told of the dead letters of the JSON array @Seqs.
IF OBJECT_ID(N{text:queue_TellDead}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_TellDead} AS RETURN{end});
GO
ALTER PROCEDURE {queue_TellDead}
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
{seqs}
    SELECT CONVERT(CHAR(36), m.Id), m.Topic, m.RetryCount, m.LastError
    FROM @seq AS s JOIN {queue} AS m WITH (FORCESEEK) ON m.Seq = s.Seq
    WHERE m.Status = 3
    ORDER BY m.Seq;
END
