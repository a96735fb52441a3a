-- queue_find_held: the attempts of claims that @OwnerToken holds, to work out their backoff.
IF OBJECT_ID(N{text:queue_FindHeld}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_FindHeld} AS RETURN{end});
GO
ALTER PROCEDURE {queue_FindHeld}
    @OwnerToken UNIQUEIDENTIFIER,
    @Claims NVARCHAR(MAX)
AS
BEGIN
{settings}
{claims}
    SELECT w.Seq, w.RetryCount, w.ClaimNumber
    FROM @claim AS c JOIN {queue} AS w WITH (FORCESEEK) ON w.Seq = c.Seq
    WHERE w.Status = 1 AND w.OwnerToken = @OwnerToken AND (c.ClaimNumber IS NULL OR c.ClaimNumber = w.ClaimNumber);
END
