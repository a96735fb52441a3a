-- queue_next_due: in how many us the first message of the JSON array @Topics may be tried, or null. Where there are more than 1,000 ordering keys it may be now; a claim finds out.
IF OBJECT_ID(N{text:queue_NextDue}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_NextDue} AS RETURN{end});
GO
ALTER PROCEDURE {queue_NextDue}
    @Topics NVARCHAR(MAX),
    @Now BIGINT = NULL,
    @Since BIGINT = NULL
AS
BEGIN
{settings}
{now}
{topics}
    DECLARE @since_at DATETIME2(6) = {TimeOf}(COALESCE(@Since, -9223372036854775807));
    DECLARE @plain DATETIME2(6), @ordered DATETIME2(6), @keys INT;
    SELECT @plain = MIN(f.NextAttemptAt)
    FROM @topic AS t
    CROSS APPLY (
        SELECT TOP (1) w.NextAttemptAt
        FROM {queue} AS w WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, INDEX (IX_WorkQueue))
        WHERE w.Topic = t.Topic AND DATALENGTH(w.Topic) = DATALENGTH(t.Topic) AND w.Status = 0 AND w.OrderedKey IS NULL AND w.NextAttemptAt >= @since_at
        ORDER BY w.NextAttemptAt, w.Seq) AS f;
    SELECT @keys = COUNT(*),
           @ordered = MIN(CASE WHEN EXISTS (SELECT 1 FROM @topic AS t WHERE t.Topic = w.Topic AND DATALENGTH(t.Topic) = DATALENGTH(w.Topic)) THEN w.NextAttemptAt END)
    FROM (SELECT TOP (1000) o.OrderedKey, MIN(o.Seq) AS Seq
          FROM {queue} AS o WITH (READUNCOMMITTED, INDEX (IX_Ordered))
          WHERE o.OrderedKey IS NOT NULL
          GROUP BY o.OrderedKey
          ORDER BY o.OrderedKey) AS h
    JOIN {queue} AS w WITH (READUNCOMMITTED) ON w.Seq = h.Seq
    WHERE NOT EXISTS (SELECT 1 FROM {queue} AS r WITH (READUNCOMMITTED) WHERE r.RunningKey = h.OrderedKey AND r.RunningKey IS NOT NULL);
    SELECT CASE WHEN @keys = 1000 THEN CAST(0 AS BIGINT)
                ELSE DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), CASE WHEN @plain <= @ordered OR @ordered IS NULL THEN @plain ELSE @ordered END) - @now_us END;
END
