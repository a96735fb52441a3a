-- queue_stats: unfinished messages by topic; of those in progress last, whose lease is over.
IF OBJECT_ID(N{text:queue_Stats}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Stats} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Stats}
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    SELECT MIN(s.Topic),
           SUM(CASE WHEN s.Status = 0 AND s.Waits = 0 AND s.NextAttemptAt <= @now_at THEN 1 ELSE 0 END),
           SUM(CASE WHEN s.Status = 0 AND s.Waits = 0 AND s.NextAttemptAt > @now_at THEN 1 ELSE 0 END),
           SUM(CASE WHEN s.Status = 1 THEN 1 ELSE 0 END),
           SUM(CASE WHEN s.Status = 0 AND s.Waits = 1 THEN 1 ELSE 0 END),
           COALESCE(MAX(CASE WHEN s.Status = 0 AND s.Waits = 0 AND s.NextAttemptAt <= @now_at THEN DATEDIFF_BIG(MICROSECOND, s.NextAttemptAt, @now_at) END), 0),
           SUM(CASE WHEN s.Status = 1 AND s.LockedUntil <= @now_ms THEN 1 ELSE 0 END)
    FROM (SELECT w.Topic, w.Status, w.NextAttemptAt, w.LockedUntil,
                 CASE WHEN w.OrderedKey IS NOT NULL
                       AND (w.Seq > MIN(w.Seq) OVER (PARTITION BY w.OrderedKey) OR MAX(CASE WHEN w.Status = 1 THEN 1 ELSE 0 END) OVER (PARTITION BY w.OrderedKey) = 1)
                      THEN 1 ELSE 0 END AS Waits
          FROM {queue} AS w WHERE w.Status IN (0, 1)) AS s
    GROUP BY s.Topic, DATALENGTH(s.Topic)
    ORDER BY MIN(s.Topic);
END
