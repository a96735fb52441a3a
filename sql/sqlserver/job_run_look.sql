-- job_run_look: one run.
EXEC {JobRuns_Look} @Id = :id
