-- job_run_spend: fail those of the claims [[seq, claim number or null], ...] that @OwnerToken holds whose job allows no further attempt.
IF OBJECT_ID(N{text:JobRuns_Spend}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_Spend} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_Spend}
    @OwnerToken UNIQUEIDENTIFIER,
    @Claims NVARCHAR(MAX),
    @Now BIGINT = NULL,
    @Reason NVARCHAR(MAX) = NULL
AS
BEGIN
{settings}
{now}
{claims}
    DECLARE @held TABLE (Seq BIGINT NOT NULL, ClaimNumber BIGINT NOT NULL);
    UPDATE w
    SET StatusCode = 3, RetryCount = w.RetryCount + 1, OwnerToken = NULL, LockedUntil = NULL, OrderedKey = NULL, RunningKey = NULL, ActiveKey = NULL,
        EndTime = @now_at, LastError = COALESCE(@Reason, w.LastError)
    OUTPUT inserted.Seq, inserted.ClaimNumber INTO @held
    FROM @claim AS c JOIN {JobRuns} AS w WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON w.Seq = c.Seq
    WHERE w.StatusCode = 1 AND w.OwnerToken = @OwnerToken AND (c.ClaimNumber IS NULL OR c.ClaimNumber = w.ClaimNumber)
      AND w.MaxAttempts > 0 AND w.RetryCount + 1 >= w.MaxAttempts;
    SELECT h.Seq, h.ClaimNumber FROM @held AS h;
END
