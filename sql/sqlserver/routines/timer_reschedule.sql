-- timer_reschedule: set the next attempt of a timer that was never claimed; returns it.
IF OBJECT_ID(N{text:Timers_Reschedule}) IS NULL EXEC (N{body}CREATE PROCEDURE {Timers_Reschedule} AS RETURN{end});
GO
ALTER PROCEDURE {Timers_Reschedule}
    @Id UNIQUEIDENTIFIER,
    @DueAt BIGINT = NULL,
    @Delay BIGINT = 0,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @due_us BIGINT = COALESCE(@DueAt, @now_us + @Delay);
    DECLARE @due DATETIME2(6) = {TimeOf}(@due_us);
    DECLARE @moved TABLE (Seq BIGINT NOT NULL);
    UPDATE m
    SET NextAttemptAt = @due
    OUTPUT inserted.Seq INTO @moved
    FROM {Timers} AS m WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE m.Id = @Id AND m.StatusCode = 0 AND m.RetryCount = 0;
    SELECT d.Seq, @due_us FROM @moved AS d;
END
