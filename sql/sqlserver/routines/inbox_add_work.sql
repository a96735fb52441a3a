-- inbox_add_work: the message @Number is to be processed, if it is more than seen.
IF OBJECT_ID(N{text:inbox_AddWork}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_AddWork} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_AddWork}
    @Number BIGINT
AS
BEGIN
{settings}
    UPDATE m
    SET Status = 0, NextAttemptAt = m.DueTimeUtc, OrderedKey = m.OrderingKey + N'.'
    FROM {inbox} AS m WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE m.Seq = @Number AND m.Status = 5 AND m.Topic IS NOT NULL;
END
