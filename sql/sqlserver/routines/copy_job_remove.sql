-- copy_job_remove: it is deleted, unless it was changed since.
IF OBJECT_ID(N{text:CopyJob_Remove}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Remove} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Remove}
    @OwnerToken UNIQUEIDENTIFIER,
    @Number BIGINT
AS
BEGIN
{settings}
    DELETE j
    FROM {CopyJob} AS c JOIN {Jobs} AS j WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON j.Seq = c.JobSeq AND j.Id = c.JobId AND j.Version = c.Version
    WHERE c.JobSeq = @Number AND c.Peer = @OwnerToken;
END
