-- copy_job_lock: the job @Number, if it is still the one @Id, and not on its way.
IF OBJECT_ID(N{text:CopyJob_Lock}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Lock} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Lock}
    @Number BIGINT,
    @Id UNIQUEIDENTIFIER
AS
BEGIN
{settings}
    SET DEADLOCK_PRIORITY LOW; -- until the procedure ends: the move begins anew, and apps' transactions go on
    DECLARE @held TABLE (Seq BIGINT NOT NULL);
    DECLARE @entry BIGINT;
    -- First its place in the index of ids: who gives it a run has that until it is committed, and is waited for with nothing of the job locked. Then the job, written as it was, for that locks everywhere.
    SELECT @entry = k.Seq FROM {Jobs} AS k WITH (XLOCK, ROWLOCK, READCOMMITTEDLOCK, INDEX ({name:Jobs_Known}), FORCESEEK) WHERE k.Id = @Id;
    UPDATE j
    SET Version = j.Version
    OUTPUT inserted.Seq INTO @held
    FROM {Jobs} AS j WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
    WHERE j.Seq = @Number AND j.Seq = @entry AND j.Id = @Id AND NOT EXISTS (SELECT 1 FROM {CopyJob} AS c WHERE c.JobSeq = j.Seq AND c.JobId = j.Id);
    SELECT h.Seq FROM @held AS h;
END
