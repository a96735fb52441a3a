-- queue_renew: extend claims to @Lease us from now.
IF OBJECT_ID(N{text:queue_Renew}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_Renew} AS RETURN{end});
GO
ALTER PROCEDURE {queue_Renew}
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
    FROM @claim AS c JOIN {queue} AS w WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON w.Seq = c.Seq
    WHERE w.Status = 1 AND w.OwnerToken = @OwnerToken AND (c.ClaimNumber IS NULL OR c.ClaimNumber = w.ClaimNumber);
    SELECT h.Seq, h.ClaimNumber FROM @held AS h;
END
