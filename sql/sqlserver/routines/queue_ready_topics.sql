-- queue_ready_topics: the topics with ready messages.
IF OBJECT_ID(N{text:queue_ReadyTopics}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_ReadyTopics} AS RETURN{end});
GO
ALTER PROCEDURE {queue_ReadyTopics}
AS
BEGIN
{settings}
    SELECT MIN(w.Topic)
    FROM {queue} AS w WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK)
    WHERE w.Status = 0
    GROUP BY w.Topic, DATALENGTH(w.Topic);
END
