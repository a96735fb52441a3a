-- join_cancel: end a join as cancelled; its status then, or no row.
IF OBJECT_ID(N{text:Join_Cancel}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_Cancel} AS RETURN{end});
GO
ALTER PROCEDURE {Join_Cancel}
    @Id UNIQUEIDENTIFIER,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @told TABLE (JoinSeq BIGINT NOT NULL PRIMARY KEY, Status TINYINT NOT NULL);
    DECLARE @ended NVARCHAR(MAX);
{call_begin}
    UPDATE j
    SET Status = 3, EndedAt = @now_at
    OUTPUT inserted.Seq, inserted.Status INTO @told
    FROM {Join} AS j WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE j.Id = @Id AND j.Status = 0;
    SET @ended = (SELECT t.JoinSeq AS j, t.Status AS s FROM @told AS t FOR JSON PATH);
    IF @ended IS NOT NULL
        EXEC {Join_End} @Ended = @ended, @Now = @now_us;
{call_end}
    SELECT t.Status FROM @told AS t;
END
