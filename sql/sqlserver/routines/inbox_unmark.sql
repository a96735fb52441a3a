-- inbox_unmark: the app does not process the message @Number itself any more.
IF OBJECT_ID(N{text:inbox_Unmark}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_Unmark} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_Unmark}
    @Number BIGINT
AS
BEGIN
{settings}
    UPDATE m
    SET Status = 5
    FROM {inbox} AS m WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE m.Seq = @Number AND m.Status = 1 AND m.LockedUntil IS NULL;
END
