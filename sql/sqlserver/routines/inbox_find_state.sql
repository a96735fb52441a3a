-- inbox_find_state: the state of the message @Number, as it is now.
IF OBJECT_ID(N{text:inbox_FindState}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_FindState} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_FindState}
    @Number BIGINT
AS
BEGIN
{settings}
    SELECT CASE WHEN m.Status = 1 AND m.LockedUntil IS NULL THEN 6 ELSE CAST(m.Status AS INT) END
    FROM {inbox} AS m WITH (READCOMMITTEDLOCK)
    WHERE m.Seq = @Number;
END
