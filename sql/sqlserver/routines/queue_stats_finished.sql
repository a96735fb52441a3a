-- queue_stats_finished: finished messages by topic.
IF OBJECT_ID(N{text:queue_StatsFinished}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_StatsFinished} AS RETURN{end});
GO
ALTER PROCEDURE {queue_StatsFinished}
AS
BEGIN
{settings}
    SELECT MIN(m.Topic), SUM(CASE WHEN m.Status = 2 THEN 1 ELSE 0 END), SUM(CASE WHEN m.Status = 3 THEN 1 ELSE 0 END)
    FROM {queue} AS m
    WHERE m.Status IN (2, 3, 6, 7)
    GROUP BY m.Topic, DATALENGTH(m.Topic)
    ORDER BY MIN(m.Topic);
END
