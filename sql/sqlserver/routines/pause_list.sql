-- pause_list: the topics that are paused. Workers ask this again and again, and wait for nobody who is changing it: rows of changes that are not committed are passed. They are looked through once and in order, so that of a topic's changes a later one is never missed that was committed with one that is seen.
IF OBJECT_ID(N{text:PausedTopic_List}) IS NULL EXEC (N{body}CREATE PROCEDURE {PausedTopic_List} AS RETURN{end});
GO
ALTER PROCEDURE {PausedTopic_List}
AS
BEGIN
{settings}
    DECLARE @change TABLE (Queue NVARCHAR(20) COLLATE Latin1_General_BIN2 NOT NULL, TopicKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL, ChangeNumber INT NOT NULL, Topic NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL, IsPaused BIT NOT NULL, PausedAt DATETIME2(6) NOT NULL, PausedBy NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL, PRIMARY KEY (Queue, TopicKey, ChangeNumber));
    INSERT INTO @change (Queue, TopicKey, ChangeNumber, Topic, IsPaused, PausedAt, PausedBy)
    SELECT p.Queue, p.TopicKey, p.ChangeNumber, p.Topic, p.IsPaused, p.PausedAt, p.PausedBy
    FROM {PausedTopic} AS p WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK)
    ORDER BY p.Queue, p.TopicKey, p.ChangeNumber;
    SELECT c.Queue, c.Topic, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), c.PausedAt), c.PausedBy
    FROM @change AS c
    WHERE c.IsPaused = 1
      AND NOT EXISTS (SELECT 1 FROM @change AS n WHERE n.Queue = c.Queue AND n.TopicKey = c.TopicKey AND n.ChangeNumber > c.ChangeNumber)
    ORDER BY c.Queue, c.TopicKey;
END
