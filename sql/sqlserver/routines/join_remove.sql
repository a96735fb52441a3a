-- join_remove: up to @BatchSize joins that were over at least @Age us ago go, with all that is known of them.
IF OBJECT_ID(N{text:Join_Remove}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_Remove} AS RETURN{end});
GO
ALTER PROCEDURE {Join_Remove}
    @Age BIGINT,
    @BatchSize BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: apps' transactions go on
{now}
    DECLARE @old DATETIME2(6) = {TimeOf}(@now_us - @Age);
    DECLARE @gone TABLE (JoinSeq BIGINT NOT NULL PRIMARY KEY);
    DECLARE @more INT = 1;
{call_begin}
    INSERT INTO @gone (JoinSeq)
    SELECT TOP (@BatchSize) j.Seq
    FROM {Join} AS j WITH (READPAST, UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Ended))
    WHERE j.EndedAt IS NOT NULL AND j.EndedAt <= @old
    ORDER BY j.EndedAt, j.Seq;
    DELETE n FROM @gone AS g JOIN {JoinNext} AS n WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON n.JoinSeq = g.JoinSeq;
    DELETE v FROM @gone AS g JOIN {JoinWait} AS v WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON v.JoinSeq = g.JoinSeq;
    -- A thousand a statement, so that none has very many locks.
    WHILE @more > 0
    BEGIN
        DELETE TOP (1000) m FROM @gone AS g JOIN {JoinMember} AS m WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON m.JoinSeq = g.JoinSeq;
        SET @more = @@ROWCOUNT;
    END;
    DELETE j FROM @gone AS g JOIN {Join} AS j WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON j.Seq = g.JoinSeq;
{call_end}
    SELECT g.JoinSeq FROM @gone AS g;
END
