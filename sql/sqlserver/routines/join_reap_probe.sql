-- join_reap_probe: whether a join is past its deadline.
IF OBJECT_ID(N{text:Join_ReapProbe}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_ReapProbe} AS RETURN{end});
GO
ALTER PROCEDURE {Join_ReapProbe}
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    SELECT CASE WHEN EXISTS (SELECT 1 FROM {Join} AS j WITH (READPAST, READCOMMITTEDLOCK, ROWLOCK) WHERE j.Status = 0 AND j.DeadlineAt IS NOT NULL AND j.DeadlineAt <= @now_at) THEN 1 ELSE 0 END;
END
