-- queue_ready_topics: the topics with ready messages.
IF OBJECT_ID(N{text:queue_ReadyTopics}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_ReadyTopics} AS RETURN{end});
GO
ALTER PROCEDURE {queue_ReadyTopics}
AS
BEGIN
{settings}
    SELECT MIN(a.Topic)
    FROM (SELECT w.Topic FROM {queue} AS w WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, INDEX (IX_WorkQueue)) WHERE w.Status = 0 AND w.OrderedKey IS NULL
          UNION ALL
          SELECT w.Topic FROM {queue} AS w WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, INDEX (IX_Ordered)) WHERE w.OrderedKey IS NOT NULL AND w.Status = 0) AS a
    GROUP BY a.Topic, DATALENGTH(a.Topic);
END
