-- join_end: what is to be enqueued when the joins of the JSON array @Ended, each with its number j and status s, are over now is, and those that wait for them wait no more. A waiting message that is locked is being claimed, and whoever claims it looks at the join. Within a transaction of its caller alone.
IF OBJECT_ID(N{text:Join_End}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_End} AS RETURN{end});
GO
ALTER PROCEDURE {Join_End}
    @Ended NVARCHAR(MAX),
    @Now BIGINT
AS
BEGIN
    DECLARE @now_at DATETIME2(6) = {TimeOf}(@Now);
    DECLARE @over TABLE (JoinSeq BIGINT NOT NULL PRIMARY KEY, Status TINYINT NOT NULL);
    INSERT INTO @over (JoinSeq, Status)
    SELECT j.JoinSeq, j.Status FROM OPENJSON(@Ended) WITH (JoinSeq BIGINT '$.j', Status TINYINT '$.s') AS j;
    INSERT INTO {outbox} (Id, Topic, Payload, Headers, CorrelationId, OrderingKey, CreatedAt, DueAt, NextAttemptAt, OrderedKey)
    SELECT n.Id, n.Topic, n.Payload, n.Headers, n.CorrelationId, n.OrderingKey, @now_at, @now_at, @now_at, n.OrderingKey + N'.'
    FROM @over AS e JOIN {JoinNext} AS n WITH (READCOMMITTEDLOCK, FORCESEEK) ON n.JoinSeq = e.JoinSeq AND n.Status = e.Status;
    UPDATE w
    SET NextAttemptAt = @now_at
    FROM @over AS e
    JOIN {JoinWait} AS v WITH (READCOMMITTEDLOCK, FORCESEEK) ON v.JoinSeq = e.JoinSeq
    JOIN {outbox} AS w WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON w.Seq = v.Seq
    WHERE w.Status = 0;
    DELETE v
    FROM @over AS e JOIN {JoinWait} AS v WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON v.JoinSeq = e.JoinSeq;
END
