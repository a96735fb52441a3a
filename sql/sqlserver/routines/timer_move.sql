-- timer_move: set the due time of the timer @Number.
IF OBJECT_ID(N{text:Timers_Move}) IS NULL EXEC (N{body}CREATE PROCEDURE {Timers_Move} AS RETURN{end});
GO
ALTER PROCEDURE {Timers_Move}
    @Number BIGINT,
    @DueAt BIGINT
AS
BEGIN
{settings}
    UPDATE m
    SET DueTime = {TimeOf}(@DueAt)
    FROM {Timers} AS m WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE m.Seq = @Number;
END
