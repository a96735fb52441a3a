-- copy_job_free: it is scheduled again as it was, unless it was changed since.
IF OBJECT_ID(N{text:CopyJob_Free}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Free} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Free}
    @OwnerToken UNIQUEIDENTIFIER,
    @Number BIGINT
AS
BEGIN
{settings}
    UPDATE j
    SET NextDueTime = c.NextDueTime, FiredAt = c.FiredAt, Version = j.Version + 1
    FROM {CopyJob} AS c JOIN {Jobs} AS j WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON j.Seq = c.JobSeq AND j.Id = c.JobId AND j.Version = c.Version
    WHERE c.JobSeq = @Number AND c.Peer = @OwnerToken;
END
