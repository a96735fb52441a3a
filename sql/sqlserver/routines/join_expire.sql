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
{now}
    DECLARE @told TABLE (JoinSeq BIGINT NOT NULL PRIMARY KEY, Status TINYINT NOT NULL);
    DECLARE @ended NVARCHAR(MAX);
{call_begin}
    UPDATE j
    SET Status = 2, EndedAt = @now_at, Reason = @Reason
    OUTPUT inserted.Seq, inserted.Status INTO @told
    FROM {Join} AS j WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)
    WHERE j.Status = 0 AND j.Seq IN (
        SELECT TOP (@BatchSize) e.Seq
        FROM {Join} AS e WITH (READPAST, UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Deadline))
        WHERE e.Status = 0 AND e.DeadlineAt IS NOT NULL AND e.DeadlineAt <= @now_at
        ORDER BY e.DeadlineAt, e.Seq);
    SET @ended = (SELECT t.JoinSeq AS j, t.Status AS s FROM @told AS t FOR JSON PATH);
    IF @ended IS NOT NULL
        EXEC {Join_End} @Ended = @ended, @Now = @now_us;
{call_end}
    SELECT t.Status FROM @told AS t;
END
