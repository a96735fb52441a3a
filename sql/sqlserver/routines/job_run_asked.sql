-- job_run_asked: which of the runs of the JSON array @Seqs are asked to end, and were not replayed since.
IF OBJECT_ID(N{text:JobRuns_Asked}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_Asked} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_Asked}
    @Seqs NVARCHAR(MAX)
AS
BEGIN
{settings}
{seqs}
    SELECT r.Seq
    FROM @seq AS s JOIN {JobRuns} AS r WITH (FORCESEEK) ON r.Seq = s.Seq
    WHERE r.CancelAt IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {JobRuns_Replayed} AS p WITH (FORCESEEK) WHERE p.Seq = r.Seq AND p.ReplayedAt >= r.CancelAt);
END
