-- queue_renew_free: extend claims to @Lease us from now, but wait for none that another transaction has locked: 0 tells that one is.
IF OBJECT_ID(N{text:queue_RenewFree}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_RenewFree} AS RETURN{end});
GO
ALTER PROCEDURE {queue_RenewFree}
    @OwnerToken UNIQUEIDENTIFIER,
    @Claims NVARCHAR(MAX),
    @Now BIGINT = NULL,
    @Lease BIGINT
AS
BEGIN
{settings}
{now}
{claims}
    DECLARE @until_us BIGINT = @now_us + @Lease;
    DECLARE @until DATETIME2(3) = {TimeOf}(@until_us - @until_us % 1000);
    DECLARE @held TABLE (Seq BIGINT NOT NULL, ClaimNumber BIGINT NOT NULL);
    UPDATE w
    SET LockedUntil = @until
    OUTPUT inserted.Seq, inserted.ClaimNumber INTO @held
    FROM @claim AS c JOIN {queue} AS w WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON w.Seq = c.Seq
    WHERE w.Status = 1 AND w.OwnerToken = @OwnerToken AND (c.ClaimNumber IS NULL OR c.ClaimNumber = w.ClaimNumber);
    SELECT h.Seq, h.ClaimNumber, 1 FROM @held AS h
    UNION ALL
    SELECT c.Seq, c.ClaimNumber, 0 FROM @claim AS c
    WHERE c.Seq NOT IN (SELECT h.Seq FROM @held AS h)
      AND NOT EXISTS (SELECT 1 FROM {queue} AS w WITH (READPAST, UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) WHERE w.Seq = c.Seq)
      AND EXISTS (SELECT 1 FROM {queue} AS w WITH (READUNCOMMITTED) WHERE w.Seq = c.Seq);
END
