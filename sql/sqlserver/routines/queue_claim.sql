-- queue_claim: lease up to @BatchSize due messages to @OwnerToken: their ids, or with @Whole whole messages. @Topics: a JSON array; null: any. @Lease is in microseconds.
IF OBJECT_ID(N{text:queue_Claim}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Claim} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Claim}
    @OwnerToken UNIQUEIDENTIFIER,
    @LeaseSeconds INT = 30,
    @BatchSize BIGINT = 50,
    @Topics NVARCHAR(MAX) = NULL,
    @Now BIGINT = NULL,
    @Since BIGINT = NULL,
    @After NVARCHAR(255) = N'',
    @Lease BIGINT = NULL,
    @MaxAttempts BIGINT = NULL,
    @Whole BIT = 0
AS
BEGIN
{settings}
{now}
{topics}
    DECLARE @since_at DATETIME2(6) = {TimeOf}(COALESCE(@Since, -9223372036854775807));
    DECLARE @until_us BIGINT = @now_us + COALESCE(@Lease, CAST(@LeaseSeconds AS BIGINT) * 1000000);
    DECLARE @until DATETIME2(3) = {TimeOf}(@until_us - @until_us % 1000);
    DECLARE @after_key NVARCHAR(256) = @After + N'.';
    DECLARE @found TABLE (Seq BIGINT NOT NULL PRIMARY KEY, NextAttemptAt DATETIME2(6) NOT NULL);
    DECLARE @share TABLE (Topic NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL, Share BIGINT NOT NULL);
    DECLARE @pick TABLE (Seq BIGINT NOT NULL PRIMARY KEY);
    DECLARE @claimed TABLE (Seq BIGINT NOT NULL PRIMARY KEY, NextAttemptAt DATETIME2(6) NOT NULL);
    DECLARE @head TABLE (OrderedKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY, Seq BIGINT NOT NULL);
    DECLARE @next TABLE (Place INT NOT NULL PRIMARY KEY, Seq BIGINT NOT NULL, OrderedKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL);
    DECLARE @keys INT = 0, @reached NVARCHAR(256), @place INT = 1, @last INT, @seq BIGINT, @key NVARCHAR(256);
    IF @Topics IS NULL
        INSERT INTO @topic (Place, Topic)
        SELECT ROW_NUMBER() OVER (ORDER BY t.Topic), t.Topic
        FROM (SELECT MIN(a.Topic) AS Topic
              FROM (SELECT w.Topic FROM {queue} AS w WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, INDEX (IX_WorkQueue)) WHERE w.Status = 0 AND w.OrderedKey IS NULL
                    UNION ALL
                    SELECT w.Topic FROM {queue} AS w WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, INDEX (IX_Ordered)) WHERE w.OrderedKey IS NOT NULL AND w.Status = 0) AS a
              GROUP BY a.Topic, DATALENGTH(a.Topic)) AS t;
{call_begin}
    -- Without an ordering key: the first rows of each topic, as many as it has among the first of all topics.
    IF (SELECT COUNT(*) FROM @topic AS t) > 1
        INSERT INTO @share (Topic, Share)
        SELECT MIN(a.Topic), COUNT(*)
        FROM (
            SELECT TOP (@BatchSize) t.Place, t.Topic
            FROM @topic AS t
            CROSS APPLY (
                SELECT TOP (@BatchSize) w.Seq, w.NextAttemptAt
                FROM {queue} AS w WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK, INDEX (IX_WorkQueue), FORCESEEK)
                WHERE w.Topic = t.Topic AND DATALENGTH(w.Topic) = DATALENGTH(t.Topic) AND w.Status = 0 AND w.OrderedKey IS NULL
                  AND w.NextAttemptAt >= @since_at AND w.NextAttemptAt <= @now_at AND (w.ExpiresAt IS NULL OR w.ExpiresAt > @now_at)
                ORDER BY w.NextAttemptAt, w.Seq) AS c
            ORDER BY c.NextAttemptAt, c.Seq) AS a
        GROUP BY a.Place;
    ELSE
        INSERT INTO @share (Topic, Share) SELECT t.Topic, @BatchSize FROM @topic AS t;
    INSERT INTO @found (Seq, NextAttemptAt)
    SELECT c.Seq, c.NextAttemptAt
    FROM @share AS t
    CROSS APPLY (
        SELECT TOP (t.Share) w.Seq, w.NextAttemptAt
        FROM {queue} AS w WITH (READPAST, UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_WorkQueue), FORCESEEK)
        WHERE w.Topic = t.Topic AND DATALENGTH(w.Topic) = DATALENGTH(t.Topic) AND w.Status = 0 AND w.OrderedKey IS NULL
          AND w.NextAttemptAt >= @since_at AND w.NextAttemptAt <= @now_at AND (w.ExpiresAt IS NULL OR w.ExpiresAt > @now_at)
        ORDER BY w.NextAttemptAt, w.Seq) AS c;
    -- With one: the first unfinished row of each key that has none running. 1,000 keys are looked at, those after @After first.
    -- This looks at what others are about to change, too: what is found is only tried below, under locks.
    INSERT INTO @head (OrderedKey, Seq)
    SELECT TOP (1000) w.OrderedKey, MIN(w.Seq)
    FROM {queue} AS w WITH (READUNCOMMITTED, INDEX (IX_Ordered))
    WHERE w.OrderedKey IS NOT NULL AND w.OrderedKey > CASE WHEN @After = N'' THEN N'' ELSE @after_key END
    GROUP BY w.OrderedKey
    ORDER BY w.OrderedKey;
    SET @keys = @@ROWCOUNT;
    SELECT @reached = MAX(h.OrderedKey) FROM @head AS h;
    IF @keys < 1000 AND @After <> N''
    BEGIN
        INSERT INTO @head (OrderedKey, Seq)
        SELECT TOP (1000 - @keys) w.OrderedKey, MIN(w.Seq)
        FROM {queue} AS w WITH (READUNCOMMITTED, INDEX (IX_Ordered))
        WHERE w.OrderedKey IS NOT NULL AND w.OrderedKey <= @after_key
        GROUP BY w.OrderedKey
        ORDER BY w.OrderedKey;
        IF @@ROWCOUNT > 0
            SELECT @reached = MAX(h.OrderedKey) FROM @head AS h WHERE h.OrderedKey <= @after_key;
        SELECT @keys = COUNT(*) FROM @head;
    END;
    IF @keys > 0
        INSERT INTO @next (Place, Seq, OrderedKey)
        SELECT ROW_NUMBER() OVER (ORDER BY n.NextAttemptAt, n.Seq), n.Seq, n.OrderedKey
        FROM (
            SELECT TOP (@BatchSize) w.NextAttemptAt, w.Seq, w.OrderedKey
            FROM @head AS h
            JOIN {queue} AS w WITH (READUNCOMMITTED) ON w.Seq = h.Seq
            WHERE w.Status = 0 AND w.OrderedKey = h.OrderedKey AND w.NextAttemptAt <= @now_at AND (w.ExpiresAt IS NULL OR w.ExpiresAt > @now_at)
              AND EXISTS (SELECT 1 FROM @topic AS t WHERE t.Topic = w.Topic AND DATALENGTH(t.Topic) = DATALENGTH(w.Topic))
              AND NOT EXISTS (SELECT 1 FROM {queue} AS r WITH (READUNCOMMITTED) WHERE r.RunningKey = h.OrderedKey AND r.RunningKey IS NOT NULL)
            ORDER BY w.NextAttemptAt, w.Seq) AS n;
    -- Of all that was found, the first.
    INSERT INTO @pick (Seq)
    SELECT TOP (@BatchSize) a.Seq
    FROM (SELECT f.Seq, f.NextAttemptAt FROM @found AS f
          UNION ALL
          SELECT n.Seq, w.NextAttemptAt FROM @next AS n JOIN {queue} AS w WITH (READUNCOMMITTED) ON w.Seq = n.Seq) AS a
    ORDER BY a.NextAttemptAt, a.Seq;
    UPDATE w
    SET Status = 1, OwnerToken = @OwnerToken, LockedUntil = @until, ClaimNumber = w.ClaimNumber + 1, MaxAttempts = @MaxAttempts
    OUTPUT inserted.Seq, inserted.NextAttemptAt INTO @claimed
    FROM @pick AS p JOIN {queue} AS w WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON w.Seq = p.Seq
    WHERE w.Status = 0 AND w.OrderedKey IS NULL;
    -- Each with an ordering key by itself, waiting for nobody: who changes it or one before it has the turn, and an index keeps a second one from running.
    SELECT @last = MAX(n.Place) FROM @next AS n;
    SET XACT_ABORT OFF;
    SET LOCK_TIMEOUT 0;
    WHILE @place <= @last
    BEGIN
        SET @seq = NULL;
        SELECT @seq = n.Seq, @key = n.OrderedKey FROM @next AS n JOIN @pick AS p ON p.Seq = n.Seq WHERE n.Place = @place;
        SET @place = @place + 1;
        IF @seq IS NULL
            CONTINUE;
        BEGIN TRY
            UPDATE w
            SET Status = 1, RunningKey = w.OrderedKey, OwnerToken = @OwnerToken, LockedUntil = @until, ClaimNumber = w.ClaimNumber + 1, MaxAttempts = @MaxAttempts
            OUTPUT inserted.Seq, inserted.NextAttemptAt INTO @claimed
            FROM {queue} AS w WITH (ROWLOCK, READCOMMITTEDLOCK)
            WHERE w.Seq = @seq AND w.Status = 0 AND w.OrderedKey = @key AND w.NextAttemptAt <= @now_at
              AND NOT EXISTS (SELECT 1 FROM {queue} AS e WITH (READCOMMITTEDLOCK, INDEX (IX_Ordered), FORCESEEK)
                              WHERE e.OrderedKey = @key AND e.OrderedKey IS NOT NULL AND e.Seq < @seq)
              AND NOT EXISTS (SELECT 1 FROM {queue} AS r WITH (READCOMMITTEDLOCK, INDEX (UX_Running), FORCESEEK) WHERE r.RunningKey = @key AND r.RunningKey IS NOT NULL);
        END TRY
        BEGIN CATCH
            IF ERROR_NUMBER() NOT IN (1222, 2601, 2627) OR XACT_STATE() = -1
                THROW;
        END CATCH;
    END;
    IF @scope = 0 SET XACT_ABORT ON;
    IF @Whole = 0
        SELECT m.Id
        FROM @claimed AS c JOIN {queue} AS m WITH (FORCESEEK) ON m.Seq = c.Seq
        WHERE m.Status = 1 AND m.OwnerToken = @OwnerToken
        ORDER BY c.NextAttemptAt, c.Seq;
    ELSE
        -- Where there are more keys, a row of nulls tells how far this went.
        SELECT c.Seq, m.RetryCount, m.ClaimNumber, CONVERT(CHAR(36), m.Id), m.Topic, m.Payload, m.Headers, m.CorrelationId,
               CAST(CASE WHEN c.Seq IS NULL THEN LEFT(@reached COLLATE Latin1_General_BIN2, (DATALENGTH(@reached) - 2) / 2) ELSE m.OrderingKey END AS NVARCHAR(255)),
               DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.CreatedAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.DueAt), DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.ExpiresAt),
               m.LastError, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), c.NextAttemptAt), @now_us{columns}
        FROM (SELECT d.Seq, d.NextAttemptAt FROM @claimed AS d
              UNION ALL
              SELECT CAST(NULL AS BIGINT), CAST(NULL AS DATETIME2(6)) WHERE @keys >= 1000) AS c
        LEFT JOIN {queue} AS m WITH (FORCESEEK) ON m.Seq = c.Seq
        ORDER BY c.NextAttemptAt, c.Seq;
{call_end}
END
