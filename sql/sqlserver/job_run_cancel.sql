-- job_run_cancel: end a run that nobody has, as cancelled.
EXEC {JobRuns_Cancel} @Id = :id, @Now = :now, @Reason = :reason
