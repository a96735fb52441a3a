-- join_count: count the members of the JSON array @Members, each with its join j, message m and outcome o (1 completed, 2 failed), and end the joins whose last one is among them; how many counted. Within a transaction of its caller alone.
IF OBJECT_ID(N{text:Join_Count}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_Count} AS RETURN{end});
GO
ALTER PROCEDURE {Join_Count}
    @Members NVARCHAR(MAX),
    @Now BIGINT,
    @Counted BIGINT OUTPUT
AS
BEGIN
    DECLARE @now_at DATETIME2(6) = {TimeOf}(@Now);
    DECLARE @member TABLE (JoinSeq BIGINT NOT NULL, Seq BIGINT NOT NULL, Outcome TINYINT NOT NULL, PRIMARY KEY (JoinSeq, Seq));
    DECLARE @open TABLE (JoinSeq BIGINT NOT NULL PRIMARY KEY, Places BIGINT NOT NULL);
    DECLARE @counts TABLE (JoinSeq BIGINT NOT NULL, Seq BIGINT NOT NULL, Outcome TINYINT NOT NULL, PRIMARY KEY (JoinSeq, Seq));
    DECLARE @sum TABLE (JoinSeq BIGINT NOT NULL PRIMARY KEY, Completed BIGINT NOT NULL, Failed BIGINT NOT NULL);
    DECLARE @told TABLE (JoinSeq BIGINT NOT NULL PRIMARY KEY, Status TINYINT NOT NULL);
    DECLARE @join BIGINT, @ended NVARCHAR(MAX);
    INSERT INTO @member (JoinSeq, Seq, Outcome)
    SELECT j.JoinSeq, j.Seq, MIN(j.Outcome) FROM OPENJSON(@Members) WITH (JoinSeq BIGINT '$.j', Seq BIGINT '$.m', Outcome TINYINT '$.o') AS j GROUP BY j.JoinSeq, j.Seq;
    -- The joins are locked first, all in one order; what is read then is what is true.
    SELECT @join = MIN(m.JoinSeq) FROM @member AS m;
    WHILE @join IS NOT NULL
    BEGIN
        UPDATE j
        SET Completed = j.Completed
        OUTPUT inserted.Seq, inserted.Expected - inserted.Completed - inserted.Failed INTO @open
        FROM {Join} AS j WITH (ROWLOCK, READCOMMITTEDLOCK)
        WHERE j.Seq = @join AND j.Status = 0;
        SELECT @join = MIN(m.JoinSeq) FROM @member AS m WHERE m.JoinSeq > @join;
    END;
    INSERT INTO @counts (JoinSeq, Seq, Outcome)
    SELECT r.JoinSeq, r.Seq, r.Outcome
    FROM (SELECT m.JoinSeq, m.Seq, m.Outcome, o.Places, ROW_NUMBER() OVER (PARTITION BY m.JoinSeq ORDER BY m.Seq) AS Place
          FROM @member AS m
          JOIN @open AS o ON o.JoinSeq = m.JoinSeq
          JOIN {JoinMember} AS k WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON k.JoinSeq = m.JoinSeq AND k.Seq = m.Seq
          WHERE k.Status = 0) AS r
    WHERE r.Place <= r.Places
    OPTION (LOOP JOIN); -- looks at no member of others
    UPDATE k
    SET Status = c.Outcome, CountedAt = @now_at
    FROM @counts AS c, {JoinMember} AS k WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE k.JoinSeq = c.JoinSeq AND k.Seq = c.Seq;
    INSERT INTO @sum (JoinSeq, Completed, Failed)
    SELECT c.JoinSeq, SUM(CASE WHEN c.Outcome = 1 THEN 1 ELSE 0 END), SUM(CASE WHEN c.Outcome = 2 THEN 1 ELSE 0 END) FROM @counts AS c GROUP BY c.JoinSeq;
    UPDATE j
    SET Completed = j.Completed + s.Completed, Failed = j.Failed + s.Failed,
        Status = CASE WHEN j.Completed + s.Completed + j.Failed + s.Failed < j.Expected THEN 0
                      WHEN j.FailIfAny = 1 AND j.Failed + s.Failed > 0 THEN 2 ELSE 1 END,
        EndedAt = CASE WHEN j.Completed + s.Completed + j.Failed + s.Failed >= j.Expected THEN @now_at END
    OUTPUT inserted.Seq, inserted.Status INTO @told
    FROM @sum AS s, {Join} AS j WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE j.Seq = s.JoinSeq;
    SET @ended = (SELECT t.JoinSeq AS j, t.Status AS s FROM @told AS t WHERE t.Status <> 0 FOR JSON PATH);
    IF @ended IS NOT NULL
        EXEC {Join_End} @Ended = @ended, @Now = @Now;
    SELECT @Counted = COUNT(*) FROM @counts AS c;
END
