-- copy_job_runs: its runs that wait.
EXEC {CopyJob_Runs} @Number = :number
