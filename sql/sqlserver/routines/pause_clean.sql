-- pause_clean: up to @BatchSize rows of changes go behind which another one is committed; a row for each. What is not committed is passed, so that it supersedes nothing: the last of the others says what holds, and stays.
IF OBJECT_ID(N{text:PausedTopic_Clean}) IS NULL EXEC (N{body}CREATE PROCEDURE {PausedTopic_Clean} AS RETURN{end});
GO
ALTER PROCEDURE {PausedTopic_Clean}
    @BatchSize BIGINT
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: apps' transactions go on
    DECLARE @old TABLE (Queue NVARCHAR(20) COLLATE Latin1_General_BIN2 NOT NULL, TopicKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL, ChangeNumber INT NOT NULL, PRIMARY KEY (Queue, TopicKey, ChangeNumber));
    DECLARE @gone TABLE (ChangeNumber INT NOT NULL);
    INSERT INTO @old (Queue, TopicKey, ChangeNumber)
    SELECT TOP (@BatchSize) p.Queue, p.TopicKey, p.ChangeNumber
    FROM {PausedTopic} AS p WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK)
    WHERE EXISTS (SELECT 1 FROM {PausedTopic} AS n WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, FORCESEEK) WHERE n.Queue = p.Queue AND n.TopicKey = p.TopicKey AND n.ChangeNumber > p.ChangeNumber)
    ORDER BY p.Queue, p.TopicKey, p.ChangeNumber;
    DELETE p
    OUTPUT deleted.ChangeNumber INTO @gone
    FROM @old AS o
    JOIN {PausedTopic} AS p WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON o.Queue = p.Queue AND o.TopicKey = p.TopicKey AND o.ChangeNumber = p.ChangeNumber;
    SELECT g.ChangeNumber FROM @gone AS g;
END
