-- job_next_due: in how many us the next job is due, or null; 1: a job was last dealt with more than @Delay us in the future.
IF OBJECT_ID(N{text:Jobs_NextDue}) IS NULL EXEC (N{body}CREATE PROCEDURE {Jobs_NextDue} AS RETURN{end});
GO
ALTER PROCEDURE {Jobs_NextDue}
    @Delay BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @ahead DATETIME2(6) = {TimeOf}(@now_us + @Delay);
    SELECT (SELECT DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), MIN(j.NextDueTime)) FROM {Jobs} AS j WHERE j.NextDueTime IS NOT NULL) - @now_us,
           CASE WHEN EXISTS (SELECT 1 FROM {Jobs} AS a WHERE a.FiredAt > @ahead AND a.FiredAt IS NOT NULL) THEN 1 ELSE 0 END;
END
