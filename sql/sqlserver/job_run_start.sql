-- job_run_start: note that the runs of the JSON array @Seqs begin; what is needed to run them. Last, 1: their job is gone; 2: whoever had them was asked to end them.
EXEC {JobRuns_Start} @Seqs = :seqs, @Now = :now
