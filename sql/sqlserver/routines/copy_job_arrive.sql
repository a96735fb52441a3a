-- copy_job_arrive: note that it came from the store @OwnerToken, and when it is due once it is let go.
IF OBJECT_ID(N{text:CopyJob_Arrive}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Arrive} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Arrive}
    @OwnerToken UNIQUEIDENTIFIER,
    @Number BIGINT,
    @DueAt BIGINT = NULL
AS
BEGIN
{settings}
    INSERT INTO {CopyJob} (JobSeq, JobId, Peer, Version, NextDueTime, IsArrived)
    SELECT j.Seq, j.Id, @OwnerToken, j.Version, {TimeOf}(@DueAt), 1 FROM {Jobs} AS j WHERE j.Seq = @Number;
END
