-- queue_edit: the dead letter @Number has another payload.
IF OBJECT_ID(N{text:queue_Edit}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Edit} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Edit}
    @Number BIGINT,
    @Payload NVARCHAR(MAX)
AS
BEGIN
{settings}
    UPDATE m
    SET Payload = @Payload
    FROM {queue} AS m WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE m.Seq = @Number AND m.Status = 3;
END
