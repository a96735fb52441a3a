-- job_run_start: note that the runs of the JSON array @Seqs begin; what is needed to run them. Last, 1: their job is gone; 2: whoever had them was asked to end them.
IF OBJECT_ID(N{text:JobRuns_Start}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_Start} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_Start}
    @Seqs NVARCHAR(MAX),
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
{seqs}
    UPDATE r
    SET StartTime = @now_at
    FROM @seq AS s JOIN {JobRuns} AS r WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK) ON r.Seq = s.Seq;
    -- That the job is there is looked up in the index of its id, which a scheduler who moves the job on, and waits for runs, does not lock.
    SELECT r.Seq, r.JobName, r.Options,
           CASE WHEN NOT EXISTS (SELECT 1 FROM {Jobs} AS j WITH (INDEX ({name:Jobs_Known}), FORCESEEK) WHERE j.Id = r.JobId) THEN 1
                WHEN r.CancelAt IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {JobRuns_Replayed} AS p WITH (FORCESEEK) WHERE p.Seq = r.Seq AND p.ReplayedAt >= r.CancelAt) THEN 2
                ELSE 0 END
    FROM @seq AS s JOIN {JobRuns} AS r WITH (FORCESEEK) ON r.Seq = s.Seq;
END
