-- copy_job_hold: it is not scheduled.
IF OBJECT_ID(N{text:CopyJob_Hold}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyJob_Hold} AS RETURN{end});
GO
ALTER PROCEDURE {CopyJob_Hold}
    @Number BIGINT
AS
BEGIN
{settings}
    UPDATE j
    SET NextDueTime = NULL, FiredAt = NULL, Version = j.Version + 1
    FROM {Jobs} AS j WITH (UPDLOCK, ROWLOCK, READCOMMITTEDLOCK)
    WHERE j.Seq = @Number;
END
