-- queue_enqueue_many: store the messages of the JSON array @Messages, but not those whose unique key an unfinished message has; the ids stored, in the array's order.
IF OBJECT_ID(N{text:queue_EnqueueMany}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_EnqueueMany} AS RETURN{end});
GO
ALTER PROCEDURE {queue_EnqueueMany}
    @Messages NVARCHAR(MAX),
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @new TABLE (
        Place INT NOT NULL PRIMARY KEY,
        Id UNIQUEIDENTIFIER NOT NULL,
        Topic NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL,
        Payload NVARCHAR(MAX) NOT NULL,
        Headers NVARCHAR(MAX) NULL,
        CorrelationId NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
        OrderingKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
        UniqueKey NVARCHAR(255) COLLATE Latin1_General_BIN2 NULL,
        DueAt BIGINT NULL,
        Delay BIGINT NULL,
        ExpiresAt BIGINT NULL);
    DECLARE @number TABLE (Seq BIGINT NOT NULL PRIMARY KEY);
    DECLARE @row TABLE (Place INT NOT NULL PRIMARY KEY, Seq BIGINT NOT NULL);
    DECLARE @keyed TABLE (Turn INT NOT NULL PRIMARY KEY, Place INT NOT NULL, ActiveKey NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL);
    DECLARE @stored TABLE (Seq BIGINT NOT NULL PRIMARY KEY);
    DECLARE @turn INT = 1, @last INT, @place INT, @key NVARCHAR(256);
    INSERT INTO @new (Place, Id, Topic, Payload, Headers, CorrelationId, OrderingKey, UniqueKey, DueAt, Delay, ExpiresAt)
    SELECT CAST(j.[key] AS INT), CAST(m.Id AS UNIQUEIDENTIFIER), m.Topic, m.Payload, m.Headers, m.CorrelationId, m.OrderingKey, m.UniqueKey, m.DueAt, m.Delay, m.ExpiresAt
    FROM OPENJSON(@Messages) AS j
    CROSS APPLY OPENJSON(j.value) WITH (
        Id NVARCHAR(36) '$.id', Topic NVARCHAR(255) '$.topic', Payload NVARCHAR(MAX) '$.payload', Headers NVARCHAR(MAX) '$.headers',
        CorrelationId NVARCHAR(255) '$.correlation_id', OrderingKey NVARCHAR(255) '$.ordering_key', UniqueKey NVARCHAR(255) '$.unique_key',
        DueAt BIGINT '$.due_at', Delay BIGINT '$.delay', ExpiresAt BIGINT '$.expires_at') AS m;
{call_begin}
    -- As many numbers as messages, given out in the array's order.
    INSERT INTO @number (Seq) SELECT NEXT VALUE FOR {queue_Sequence} FROM @new AS n;
    INSERT INTO @row (Place, Seq)
    SELECT n.Place, s.Seq
    FROM (SELECT o.Place, ROW_NUMBER() OVER (ORDER BY o.Place) AS Turn FROM @new AS o) AS n
    JOIN (SELECT o.Seq, ROW_NUMBER() OVER (ORDER BY o.Seq) AS Turn FROM @number AS o) AS s ON s.Turn = n.Turn;
    INSERT INTO {queue} (Seq, Id, Topic, Payload, Headers, CorrelationId, OrderingKey, CreatedAt, DueAt, ExpiresAt, NextAttemptAt, OrderedKey)
    OUTPUT inserted.Seq INTO @stored
    SELECT r.Seq, n.Id, n.Topic, n.Payload, n.Headers, n.CorrelationId, n.OrderingKey, @now_at, {TimeOf}(COALESCE(n.DueAt, @now_us + n.Delay)), {TimeOf}(n.ExpiresAt),
           {TimeOf}(COALESCE(n.DueAt, @now_us + n.Delay)), n.OrderingKey + N'.'
    FROM @new AS n JOIN @row AS r ON r.Place = n.Place
    WHERE n.UniqueKey IS NULL;
    -- Those with a unique key one by one in the order of the keys, so that no two calls wait for each other.
    INSERT INTO @keyed (Turn, Place, ActiveKey)
    SELECT ROW_NUMBER() OVER (ORDER BY n.UniqueKey + N'.', n.Place), n.Place, n.UniqueKey + N'.' FROM @new AS n WHERE n.UniqueKey IS NOT NULL;
    SELECT @last = MAX(k.Turn) FROM @keyed AS k;
    WHILE @turn <= @last
    BEGIN
        SELECT @place = k.Place, @key = k.ActiveKey FROM @keyed AS k WHERE k.Turn = @turn;
        SET @turn = @turn + 1;
        -- Who has the key and has not committed is waited for here, where a client that gives up leaves no transaction.
        IF EXISTS (SELECT 1 FROM {queue} AS u WITH (READCOMMITTEDLOCK, FORCESEEK) WHERE u.ActiveKey = @key AND u.ActiveKey IS NOT NULL)
            CONTINUE;
        SET XACT_ABORT OFF;
        BEGIN TRY
            INSERT INTO {queue} (Seq, Id, Topic, Payload, Headers, CorrelationId, OrderingKey, UniqueKey, CreatedAt, DueAt, ExpiresAt, NextAttemptAt, OrderedKey, ActiveKey)
            OUTPUT inserted.Seq INTO @stored
            SELECT r.Seq, n.Id, n.Topic, n.Payload, n.Headers, n.CorrelationId, n.OrderingKey, n.UniqueKey, @now_at, {TimeOf}(COALESCE(n.DueAt, @now_us + n.Delay)), {TimeOf}(n.ExpiresAt),
                   {TimeOf}(COALESCE(n.DueAt, @now_us + n.Delay)), n.OrderingKey + N'.', @key
            FROM @new AS n JOIN @row AS r ON r.Place = n.Place
            WHERE n.Place = @place;
        END TRY
        BEGIN CATCH
            IF ERROR_NUMBER() NOT IN (2601, 2627) OR XACT_STATE() = -1
                THROW;
        END CATCH;
        IF @scope = 0 SET XACT_ABORT ON;
    END;
{call_end}
    SELECT CONVERT(CHAR(36), n.Id)
    FROM @stored AS s JOIN @row AS r ON r.Seq = s.Seq JOIN @new AS n ON n.Place = r.Place
    ORDER BY n.Place;
END
