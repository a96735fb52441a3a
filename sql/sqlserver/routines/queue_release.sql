-- queue_release: give claims back that were never started, as they were.
IF OBJECT_ID(N{text:queue_Release}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Release} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Release}
    @OwnerToken UNIQUEIDENTIFIER,
    @Claims NVARCHAR(MAX)
AS
BEGIN
{settings}
{claims}
    DECLARE @held TABLE (Seq BIGINT NOT NULL, ClaimNumber BIGINT NOT NULL);
    UPDATE w
    SET Status = 0, RunningKey = NULL, OwnerToken = NULL, LockedUntil = NULL
    OUTPUT inserted.Seq, inserted.ClaimNumber INTO @held
    FROM @claim AS c JOIN {queue} AS w WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON w.Seq = c.Seq
    WHERE w.Status = 1 AND w.OwnerToken = @OwnerToken AND (c.ClaimNumber IS NULL OR c.ClaimNumber = w.ClaimNumber);
    SELECT h.Seq, h.ClaimNumber FROM @held AS h;
END
