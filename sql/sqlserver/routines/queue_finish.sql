-- queue_finish: end the claims that @OwnerToken holds, as done (2) or failed (3); 0.
IF OBJECT_ID(N{text:queue_Finish}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Finish} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Finish}
    @OwnerToken UNIQUEIDENTIFIER,
    @Claims NVARCHAR(MAX),
    @Status TINYINT = 2,
    @Now BIGINT = NULL,
    @Attempts INT = 0,
    @Worker NVARCHAR(MAX) = NULL,
    @Reason NVARCHAR(MAX) = NULL
AS
BEGIN
{settings}
{now}
{claims}
    DECLARE @held TABLE (Seq BIGINT NOT NULL, ClaimNumber BIGINT NOT NULL);
{call_begin}
    UPDATE w
    SET Status = @Status, RetryCount = w.RetryCount + @Attempts, OwnerToken = NULL, LockedUntil = NULL, OrderedKey = NULL, RunningKey = NULL,{unique}
        ProcessedAt = @now_at, ProcessedBy = @Worker, LastError = COALESCE(@Reason, w.LastError)
    OUTPUT inserted.Seq, inserted.ClaimNumber INTO @held
    FROM @claim AS c JOIN {queue} AS w WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON w.Seq = c.Seq
    WHERE w.Status = 1 AND w.OwnerToken = @OwnerToken AND (c.ClaimNumber IS NULL OR c.ClaimNumber = w.ClaimNumber);{joined}
{call_end}
    SELECT h.Seq, h.ClaimNumber, 0 FROM @held AS h;
END
