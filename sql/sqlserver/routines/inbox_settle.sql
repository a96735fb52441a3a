-- inbox_settle: the message @Number is done or dead, whoever has claimed it; no row: it is done already.
IF OBJECT_ID(N{text:inbox_Settle}) IS NULL EXEC (N{body}CREATE PROCEDURE {inbox_Settle} AS RETURN{end});
GO
ALTER PROCEDURE {inbox_Settle}
    @Number BIGINT,
    @Now BIGINT = NULL,
    @Status TINYINT,
    @Worker NVARCHAR(MAX) = NULL,
    @Reason NVARCHAR(MAX) = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @settled TABLE (Seq BIGINT NOT NULL);
    UPDATE m
    SET Status = @Status, OwnerToken = NULL, LockedUntil = NULL, OrderedKey = NULL, RunningKey = NULL,
        ProcessedUtc = @now_at, ProcessedBy = @Worker, LastError = COALESCE(@Reason, m.LastError)
    OUTPUT inserted.Seq INTO @settled
    FROM {inbox} AS m WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE m.Seq = @Number AND m.Status <> 2;
    SELECT s.Seq FROM @settled AS s;
END
