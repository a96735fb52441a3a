-- join_expire: fail up to @BatchSize joins that are past their deadline; their status then. One that a transaction has locked is for the next time.
IF OBJECT_ID(N{text:Join_Expire}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_Expire} AS RETURN{end});
GO
ALTER PROCEDURE {Join_Expire}
    @BatchSize BIGINT,
    @Reason NVARCHAR(MAX) = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: apps' transactions go on
{now}
    DECLARE @found TABLE (JoinSeq BIGINT NOT NULL PRIMARY KEY);
    DECLARE @told TABLE (JoinSeq BIGINT NOT NULL PRIMARY KEY, Status TINYINT NOT NULL);
    DECLARE @ended NVARCHAR(MAX);
{call_begin}
    INSERT INTO @found (JoinSeq)
    SELECT TOP (@BatchSize) e.Seq
    FROM {Join} AS e WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Deadline))
    WHERE e.Status = 0 AND e.DeadlineAt IS NOT NULL AND e.DeadlineAt <= @now_at
    ORDER BY e.DeadlineAt, e.Seq;
    UPDATE j
    SET Status = 2, EndedAt = @now_at, Reason = @Reason
    OUTPUT inserted.Seq, inserted.Status INTO @told
    FROM @found AS f JOIN {Join} AS j WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON j.Seq = f.JoinSeq
    WHERE j.Status = 0;
    SET @ended = (SELECT t.JoinSeq AS j, t.Status AS s FROM @told AS t FOR JSON PATH);
    IF @ended IS NOT NULL
        EXEC {Join_End} @Ended = @ended, @Now = @now_us;
{call_end}
    SELECT t.Status FROM @told AS t;
END
