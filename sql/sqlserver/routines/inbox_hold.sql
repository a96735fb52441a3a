-- inbox_hold: the id, number and state of a message, to change it in this transaction. That it is written tells a transaction that began before.
IF OBJECT_ID(N{text:inbox_Hold}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_Hold} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_Hold}
    @Source NVARCHAR(255),
    @MessageId NVARCHAR(255),
    @Consumer NVARCHAR(255)
AS
BEGIN
{settings}
{inbox_key}
    DECLARE @held TABLE (Id UNIQUEIDENTIFIER NOT NULL, Seq BIGINT NOT NULL, Status TINYINT NOT NULL, LockedUntil DATETIME2(3) NULL);
    UPDATE m
    SET LastSeenUtc = m.LastSeenUtc
    OUTPUT inserted.Id, inserted.Seq, inserted.Status, inserted.LockedUntil
    INTO @held
    FROM {inbox} AS m WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE m.Source = @Source AND m.MessageId = @MessageId AND m.Consumer = @Consumer AND m.Widths = @widths;
    SELECT CONVERT(CHAR(36), h.Id), h.Seq, CASE WHEN h.Status = 1 AND h.LockedUntil IS NULL THEN 6 ELSE CAST(h.Status AS INT) END FROM @held AS h;
END
