-- timer_cancel: end a timer that was never claimed, as cancelled.
IF OBJECT_ID(N{text:Timers_Cancel}) IS NULL EXEC (N{body}CREATE PROCEDURE {Timers_Cancel} AS RETURN{end});
GO
ALTER PROCEDURE {Timers_Cancel}
    @Id UNIQUEIDENTIFIER,
    @Status TINYINT = 6,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @ended TABLE (Seq BIGINT NOT NULL);
    UPDATE m
    SET StatusCode = @Status, OrderedKey = NULL, ActiveKey = NULL, ProcessedAt = @now_at
    OUTPUT inserted.Seq INTO @ended
    FROM {Timers} AS m WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE m.Id = @Id AND m.StatusCode = 0 AND m.RetryCount = 0;
    SELECT e.Seq FROM @ended AS e;
END
