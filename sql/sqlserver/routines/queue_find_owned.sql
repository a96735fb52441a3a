-- queue_find_owned: the claims that are @OwnerToken's.
IF OBJECT_ID(N{text:queue_FindOwned}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_FindOwned} AS RETURN{end});
GO
ALTER PROCEDURE {queue_FindOwned}
    @OwnerToken UNIQUEIDENTIFIER
AS
BEGIN
{settings}
    SELECT w.Seq, w.ClaimNumber
    FROM {queue} AS w WITH (INDEX (IX_Leased))
    WHERE w.Status = 1 AND w.OwnerToken = @OwnerToken;
END
