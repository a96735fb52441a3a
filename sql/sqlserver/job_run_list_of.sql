-- job_run_list_of: runs of the job @Name before the one @Number, the latest first.
EXEC {JobRuns_ListOf} @Name = :name, @Number = :number, @BatchSize = :batch
