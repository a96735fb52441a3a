-- job_run_find_expired: claims whose lease is over, longest first; 1: their message has expired, too; their jobs' options; 1: whoever had them was asked to end them. They are held until this transaction ends.
IF OBJECT_ID(N{text:JobRuns_FindExpired}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_FindExpired} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_FindExpired}
    @Now BIGINT = NULL,
    @Since BIGINT = NULL,
    @BatchSize BIGINT = 100
AS
BEGIN
{settings}
{now}
    DECLARE @now_ms DATETIME2(3) = {TimeOf}(@now_us - @now_us % 1000);
    DECLARE @since_ms DATETIME2(3) = {TimeOf}(COALESCE(@Since - @Since % 1000, -9223372036854775807));
    SELECT TOP (@BatchSize) w.Seq, w.RetryCount, w.ClaimNumber, w.MaxAttempts, CONVERT(CHAR(36), w.OwnerToken), CASE WHEN w.ExpiresAt <= @now_at THEN 1 ELSE 0 END,
           w.Options, CASE WHEN w.CancelAt IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {JobRuns_Replayed} AS p WITH (FORCESEEK) WHERE p.Seq = w.Seq AND p.ReplayedAt >= w.CancelAt) THEN 1 ELSE 0 END
    FROM {JobRuns} AS w WITH (READPAST, UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, INDEX (IX_Leased))
    WHERE w.Status = 1 AND w.LockedUntil >= @since_ms AND w.LockedUntil <= @now_ms
    ORDER BY w.LockedUntil, w.Seq;
END
