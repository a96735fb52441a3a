-- copy_job_note: note that it goes to the store @OwnerToken, and what it gets back if it does not.
IF OBJECT_ID(N{text:CopyJob_Note}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Note} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Note}
    @OwnerToken UNIQUEIDENTIFIER,
    @Number BIGINT
AS
BEGIN
{settings}
    INSERT INTO {CopyJob} (JobSeq, JobId, Peer, Version, NextDueTime, FiredAt, IsArrived)
    SELECT j.Seq, j.Id, @OwnerToken, j.Version + 1, j.NextDueTime, j.FiredAt, 0 FROM {Jobs} AS j WITH (READCOMMITTEDLOCK) WHERE j.Seq = @Number;
END
