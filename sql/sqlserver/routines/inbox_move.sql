-- inbox_move: the unfinished message @Number has come again, with another topic and due time; no row: it is finished.
IF OBJECT_ID(N{text:inbox_Move}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_Move} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_Move}
    @Number BIGINT,
    @Topic NVARCHAR(255),
    @Now BIGINT = NULL,
    @DueAt BIGINT = NULL,
    @Delay BIGINT = 0,
    @ExpiresAt BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @due_us BIGINT = COALESCE(@DueAt, @now_us + @Delay);
    DECLARE @due DATETIME2(6) = {TimeOf}(@due_us);
    DECLARE @moved TABLE (Seq BIGINT NOT NULL);
    UPDATE m
    SET Topic = @Topic, ExpiresAt = {TimeOf}(@ExpiresAt),
        NextAttemptAt = CASE WHEN m.Attempt = 0 OR m.NextAttemptAt = m.DueTimeUtc OR m.NextAttemptAt < @due THEN @due ELSE m.NextAttemptAt END
    OUTPUT inserted.Seq INTO @moved
    FROM {inbox} AS m WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE m.Seq = @Number AND m.Status IN (0, 1);
    SELECT d.Seq, @due_us FROM @moved AS d;
END
