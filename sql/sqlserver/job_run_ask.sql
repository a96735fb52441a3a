-- job_run_ask: ask whoever runs it, or will, to end a run.
EXEC {JobRuns_Ask} @Id = :id, @Now = :now
