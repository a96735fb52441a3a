-- copy_job_find: the next job behind the one @Number that is not on its way; 1: a run of it is running.
IF OBJECT_ID(N{text:CopyJob_Find}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Find} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Find}
    @Number BIGINT
AS
BEGIN
{settings}
    SELECT TOP (1) j.Seq, CONVERT(CHAR(36), j.Id), j.JobName,
           CASE WHEN EXISTS (SELECT 1 FROM {JobRuns} AS r WHERE r.JobId = j.Id AND r.StatusCode = 1) THEN 1 ELSE 0 END
    FROM {Jobs} AS j
    WHERE j.Seq > @Number AND NOT EXISTS (SELECT 1 FROM {CopyJob} AS c WHERE c.JobSeq = j.Seq AND c.JobId = j.Id)
    ORDER BY j.Seq;
END
