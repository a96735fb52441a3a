-- queue_retry: give claims back after a failed attempt, to be tried again in @Delay us.
IF OBJECT_ID(N{text:queue_Retry}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Retry} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Retry}
    @OwnerToken UNIQUEIDENTIFIER,
    @Claims NVARCHAR(MAX),
    @Now BIGINT = NULL,
    @Delay BIGINT = 0,
    @Reason NVARCHAR(MAX) = NULL
AS
BEGIN
{settings}
{now}
{claims}
    DECLARE @held TABLE (Seq BIGINT NOT NULL, ClaimNumber BIGINT NOT NULL);
    UPDATE w
    SET Status = 0, RunningKey = NULL, OwnerToken = NULL, LockedUntil = NULL, RetryCount = w.RetryCount + 1,
        NextAttemptAt = {TimeOf}(@now_us + @Delay), LastError = COALESCE(@Reason, w.LastError)
    OUTPUT inserted.Seq, inserted.ClaimNumber INTO @held
    FROM @claim AS c JOIN {queue} AS w WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON w.Seq = c.Seq
    WHERE w.Status = 1 AND w.OwnerToken = @OwnerToken AND (c.ClaimNumber IS NULL OR c.ClaimNumber = w.ClaimNumber);
    SELECT h.Seq, h.ClaimNumber FROM @held AS h;
END
