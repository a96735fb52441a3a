-- queue_find_standing: where the messages of the claims [[seq, claim number], ...] stand now, and by which claim.
IF OBJECT_ID(N{text:queue_FindStanding}) IS NULL EXEC (N{body}CREATE PROCEDURE {queue_FindStanding} AS RETURN{end});
GO
ALTER PROCEDURE {queue_FindStanding}
    @Claims NVARCHAR(MAX)
AS
BEGIN
{settings}
{claims}
    SELECT DISTINCT w.Seq, CAST(w.Status AS INT), w.ClaimNumber
    FROM @claim AS c JOIN {queue} AS w WITH (FORCESEEK) ON w.Seq = c.Seq;
END
