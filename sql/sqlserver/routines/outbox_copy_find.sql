-- queue_copy_find: as of other queues, but none that belongs to a join that is not over.
IF OBJECT_ID(N{text:outbox_CopyFind}) IS NULL EXEC (N{body}CREATE PROCEDURE {outbox_CopyFind} AS RETURN{end});
GO
ALTER PROCEDURE {outbox_CopyFind}
    @Number BIGINT,
    @BatchSize BIGINT
AS
BEGIN
{settings}
    DECLARE @page TABLE (Seq BIGINT NOT NULL PRIMARY KEY, OrderedKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL);
    DECLARE @last BIGINT;
    -- What another transaction is changing is left out: it is looked at again in the next pass, and none that is behind it in its key is moved: see copy_split.
    INSERT INTO @page (Seq, OrderedKey)
    SELECT TOP (@BatchSize) w.Seq, w.OrderedKey
    FROM {queue} AS w WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
    WHERE w.Seq > @Number AND w.Status = 0
      AND (w.OrderedKey IS NULL OR NOT EXISTS (SELECT 1 FROM {queue} AS h WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Ordered)) WHERE h.OrderedKey = w.OrderedKey AND h.OrderedKey IS NOT NULL AND h.Status = 1))
      AND (w.OrderedKey IS NULL OR NOT EXISTS (SELECT 1 FROM {queue} AS e WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Ordered)) WHERE e.OrderedKey = w.OrderedKey AND e.OrderedKey IS NOT NULL AND e.Seq <= @Number)) AND (w.Topic <> N'join.wait' OR DATALENGTH(w.Topic) <> DATALENGTH(N'join.wait'))
      AND NOT EXISTS (SELECT 1 FROM {JoinMember} AS k WITH (READCOMMITTEDLOCK) JOIN {Join} AS j WITH (READCOMMITTEDLOCK) ON j.Seq = k.JoinSeq WHERE k.Seq = w.Seq AND j.Status = 0)
    ORDER BY w.Seq;
    SELECT @last = MAX(p.Seq) FROM @page AS p;
    SELECT p.Seq, @last FROM @page AS p
    UNION
    SELECT w.Seq, @last
    FROM {queue} AS w WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Ordered))
    WHERE w.OrderedKey IN (SELECT p.OrderedKey FROM @page AS p) AND w.OrderedKey IS NOT NULL AND w.Status = 0 AND (w.Topic <> N'join.wait' OR DATALENGTH(w.Topic) <> DATALENGTH(N'join.wait'))
      AND NOT EXISTS (SELECT 1 FROM {JoinMember} AS k WITH (READCOMMITTEDLOCK) JOIN {Join} AS j WITH (READCOMMITTEDLOCK) ON j.Seq = k.JoinSeq WHERE k.Seq = w.Seq AND j.Status = 0);
END
