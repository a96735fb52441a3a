-- job_run_output: what the handler of the run @Number returned.
IF OBJECT_ID(N{text:JobRuns_Output}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_Output} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_Output}
    @Number BIGINT,
    @Payload NVARCHAR(MAX) = NULL
AS
BEGIN
{settings}
    UPDATE r
    SET Output = @Payload
    FROM {JobRuns} AS r WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE r.Seq = @Number;
END
