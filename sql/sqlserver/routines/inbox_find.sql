-- inbox_find: the id, number and state of a message.
IF OBJECT_ID(N{text:inbox_Find}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_Find} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_Find}
    @Source NVARCHAR(255),
    @MessageId NVARCHAR(255),
    @Consumer NVARCHAR(255)
AS
BEGIN
{settings}
{inbox_key}
    SELECT CONVERT(CHAR(36), m.Id), m.Seq, CASE WHEN m.Status = 1 AND m.LockedUntil IS NULL THEN 6 ELSE CAST(m.Status AS INT) END
    FROM {inbox} AS m WITH (FORCESEEK)
    WHERE m.Source = @Source AND m.MessageId = @MessageId AND m.Consumer = @Consumer AND m.Widths = @widths;
END
