-- queue_stats: unfinished messages by topic; of those in progress last, whose lease is over.
IF OBJECT_ID(N{text:queue_Stats}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Stats} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Stats}
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    -- By the indexes of what is unfinished: the table itself has all that was ever done.
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    SELECT MIN(s.Topic),
           SUM(CASE WHEN s.Status = 0 AND s.Waits = 0 AND s.NextAttemptAt <= @now_at THEN 1 ELSE 0 END),
           SUM(CASE WHEN s.Status = 0 AND s.Waits = 0 AND s.NextAttemptAt > @now_at THEN 1 ELSE 0 END),
           SUM(CASE WHEN s.Status = 1 THEN 1 ELSE 0 END),
           SUM(CASE WHEN s.Status = 0 AND s.Waits = 1 THEN 1 ELSE 0 END),
           COALESCE(MAX(CASE WHEN s.Status = 0 AND s.Waits = 0 AND s.NextAttemptAt <= @now_at THEN DATEDIFF_BIG(MICROSECOND, s.NextAttemptAt, @now_at) END), 0),
           SUM(CASE WHEN s.Status = 1 AND s.LockedUntil <= @now_ms THEN 1 ELSE 0 END)
    FROM (SELECT w.Topic, 0 AS Status, w.NextAttemptAt, CAST(NULL AS DATETIME2(3)) AS LockedUntil, 0 AS Waits
          FROM {queue} AS w WITH (INDEX (IX_WorkQueue)) WHERE w.Status = 0 AND w.OrderedKey IS NULL
          UNION ALL
          SELECT COALESCE(w.Topic, N''), 1, w.NextAttemptAt, w.LockedUntil, 0
          FROM {queue} AS w WITH (INDEX (IX_Leased)) WHERE w.Status = 1
          UNION ALL
          -- Those in progress are counted already; here they are what others wait for.
          SELECT w.Topic, CASE WHEN w.Status = 0 THEN 0 ELSE 9 END, w.NextAttemptAt, CAST(NULL AS DATETIME2(3)),
                 CASE WHEN w.Seq > MIN(w.Seq) OVER (PARTITION BY w.OrderedKey) OR MAX(CASE WHEN w.Status = 1 THEN 1 ELSE 0 END) OVER (PARTITION BY w.OrderedKey) = 1
                      THEN 1 ELSE 0 END
          FROM {queue} AS w WITH (INDEX (IX_Ordered)) WHERE w.OrderedKey IS NOT NULL) AS s
    GROUP BY s.Topic, DATALENGTH(s.Topic)
    ORDER BY MIN(s.Topic);
END
