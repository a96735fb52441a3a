-- job_run_limit: the attempts that the claimed run @Number may take, for whoever reaps it.
IF OBJECT_ID(N{text:JobRuns_Limit}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_Limit} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_Limit}
    @Number BIGINT,
    @MaxAttempts BIGINT
AS
BEGIN
{settings}
    UPDATE r
    SET MaxAttempts = @MaxAttempts
    FROM {JobRuns} AS r WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE r.Seq = @Number;
END
