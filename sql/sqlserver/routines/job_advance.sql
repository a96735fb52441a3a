-- job_advance: from the occurrence @Since on to the next, if nobody else has done it.
IF OBJECT_ID(N{text:Jobs_Advance}) IS NULL EXEC (N{body}CREATE PROCEDURE {Jobs_Advance} AS RETURN{end});
GO
ALTER PROCEDURE {Jobs_Advance}
    @Number BIGINT,
    @Version BIGINT,
    @Since BIGINT = NULL,
    @DueAt BIGINT = NULL,
    @FiredAt BIGINT = NULL
AS
BEGIN
{settings}
    DECLARE @since_at DATETIME2(6) = {TimeOf}(@Since);
    DECLARE @advanced TABLE (Seq BIGINT NOT NULL);
    UPDATE j
    SET NextDueTime = {TimeOf}(@DueAt), FiredAt = {TimeOf}(@FiredAt), Version = j.Version + 1
    OUTPUT inserted.Seq INTO @advanced
    FROM {Jobs} AS j WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE j.Seq = @Number AND j.Version = @Version AND (j.NextDueTime = @since_at OR (j.NextDueTime IS NULL AND @Since IS NULL));
    SELECT a.Seq FROM @advanced AS a;
END
