-- copy_job_held: the job @Number, if it is held for the store @OwnerToken, and was not changed since. It is given no run meanwhile: see JobRuns_Add.
IF OBJECT_ID(N{text:CopyJob_Held}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Held} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Held}
    @OwnerToken UNIQUEIDENTIFIER,
    @Number BIGINT
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: the move begins anew, and apps' transactions go on
    DECLARE @id UNIQUEIDENTIFIER, @version BIGINT, @entry BIGINT;
    DECLARE @held TABLE (Seq BIGINT NOT NULL);
    SELECT @id = c.JobId, @version = c.Version FROM {CopyJob} AS c WHERE c.JobSeq = @Number AND c.Peer = @OwnerToken;
    -- First its place in the index of ids, which who gives it a run has until that is committed; then the job, which is written as it was, for that locks everywhere.
    SELECT @entry = k.Seq FROM {Jobs} AS k WITH (XLOCK, ROWLOCK, READCOMMITTEDLOCK, INDEX ({name:Jobs_Known}), FORCESEEK) WHERE k.Id = @id;
    UPDATE j
    SET Version = j.Version
    OUTPUT inserted.Seq INTO @held
    FROM {Jobs} AS j WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
    WHERE j.Seq = @Number AND j.Seq = @entry AND j.Version = @version;
    SELECT h.Seq FROM @held AS h;
END
