-- queue_copy_find: the next @BatchSize unfinished messages behind the one @Number that may be moved, with all of their ordering keys; and where the next page begins. None of a key that is held, or that an earlier page was about.
IF OBJECT_ID(N{text:queue_CopyFind}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_CopyFind} AS RETURN{end});
GO
ALTER PROCEDURE {queue_CopyFind}
    @Number BIGINT,
    @BatchSize BIGINT
AS
BEGIN
{settings}
    DECLARE @page TABLE (Seq BIGINT NOT NULL PRIMARY KEY, OrderedKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NULL);
    DECLARE @last BIGINT;
    -- By the indexes of what is unfinished: the table itself has all that was ever done. What another transaction is changing is left out: it is looked at
    -- again in the next pass, and none that is behind it in its key is moved: see copy_split.
    INSERT INTO @page (Seq, OrderedKey)
    SELECT TOP (@BatchSize) a.Seq, a.OrderedKey
    FROM (SELECT w.Seq, w.OrderedKey
          FROM {queue} AS w WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_WorkQueue))
          WHERE w.Status = 0 AND w.OrderedKey IS NULL AND w.Seq > @Number
          UNION
          SELECT w.Seq, w.OrderedKey
          FROM {queue} AS w WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Ordered))
          WHERE w.OrderedKey IS NOT NULL AND w.Status = 0 AND w.Seq > @Number
            AND NOT EXISTS (SELECT 1 FROM {queue} AS h WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Ordered)) WHERE h.OrderedKey = w.OrderedKey AND h.OrderedKey IS NOT NULL AND h.Status = 1)
            AND NOT EXISTS (SELECT 1 FROM {queue} AS e WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Ordered)) WHERE e.OrderedKey = w.OrderedKey AND e.OrderedKey IS NOT NULL AND e.Seq <= @Number)) AS a
    ORDER BY a.Seq;
    SELECT @last = MAX(p.Seq) FROM @page AS p;
    SELECT p.Seq, @last FROM @page AS p
    UNION
    SELECT w.Seq, @last
    FROM @page AS p JOIN {queue} AS w WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Ordered)) ON w.OrderedKey = p.OrderedKey
    WHERE w.OrderedKey IS NOT NULL AND w.Status = 0;
END
