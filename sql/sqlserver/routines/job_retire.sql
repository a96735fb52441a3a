-- job_retire: switch off the jobs of a registrar whose names are not in the JSON array @Topics.
IF OBJECT_ID(N{text:Jobs_Retire}) IS NULL EXEC (N{body}CREATE PROCEDURE {Jobs_Retire} AS RETURN{end});
GO
ALTER PROCEDURE {Jobs_Retire}
    @Registrar NVARCHAR(255),
    @Topics NVARCHAR(MAX)
AS
BEGIN
{settings}
{topics}
    DECLARE @retired TABLE (Seq BIGINT NOT NULL);
    UPDATE j
    SET IsAbsent = 1, Version = j.Version + 1, NextDueTime = NULL
    OUTPUT inserted.Seq INTO @retired
    FROM {Jobs} AS j WITH (ROWLOCK, READCOMMITTEDLOCK)
    WHERE j.Registrar = @Registrar AND j.Registrar IS NOT NULL AND DATALENGTH(j.Registrar) = DATALENGTH(@Registrar) AND j.IsAbsent = 0
      AND NOT EXISTS (SELECT 1 FROM @topic AS t WHERE t.Topic = j.JobName AND DATALENGTH(t.Topic) = DATALENGTH(j.JobName));
    SELECT d.Seq FROM @retired AS d ORDER BY d.Seq;
END
