-- job_run_list: runs before the one @Number, the latest first.
EXEC {JobRuns_List} @Number = :number, @BatchSize = :batch
