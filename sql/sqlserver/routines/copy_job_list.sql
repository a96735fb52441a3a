-- copy_job_list: the jobs on their way to the store @OwnerToken, or from it: number, id, name; 1: it is held, 2: it was changed since, 0: it was deleted; 1: it came from there.
IF OBJECT_ID(N{text:CopyJob_List}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_List} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_List}
    @OwnerToken UNIQUEIDENTIFIER
AS
BEGIN
{settings}
    SELECT c.JobSeq, CONVERT(CHAR(36), c.JobId), j.JobName, CASE WHEN j.Seq IS NULL THEN 0 WHEN j.Version = c.Version THEN 1 ELSE 2 END, CAST(c.IsArrived AS INT)
    FROM {CopyJob} AS c LEFT JOIN {Jobs} AS j WITH (FORCESEEK) ON j.Seq = c.JobSeq AND j.Id = c.JobId
    WHERE c.Peer = @OwnerToken
    ORDER BY c.JobSeq;
END
