-- copy_job_forget: it is not on its way any more.
IF OBJECT_ID(N{text:CopyJob_Forget}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Forget} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Forget}
    @OwnerToken UNIQUEIDENTIFIER,
    @Number BIGINT
AS
BEGIN
{settings}
    DELETE c FROM {CopyJob} AS c WHERE c.JobSeq = @Number AND c.Peer = @OwnerToken;
END
