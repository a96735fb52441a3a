-- queue_find_unique: the unfinished message with a unique key, as it is now, whatever the transaction has seen before.
IF OBJECT_ID(N{text:queue_FindUnique}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_FindUnique} AS RETURN{end});
GO
ALTER PROCEDURE {queue_FindUnique}
    @UniqueKey NVARCHAR(255)
AS
BEGIN
{settings}
    SELECT CONVERT(CHAR(36), w.Id)
    FROM {queue} AS w WITH (READCOMMITTEDLOCK, FORCESEEK)
    WHERE w.ActiveKey = @UniqueKey + N'.' AND w.ActiveKey IS NOT NULL;
END
