-- inbox_mark: the app processes the message @Number itself.
IF OBJECT_ID(N{text:inbox_Mark}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_Mark} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_Mark}
    @Number BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    UPDATE m
    SET Status = 1, NextAttemptAt = @now_at
    FROM {inbox} AS m WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE m.Seq = @Number AND m.Status = 5;
END
