-- job_run_asked: which of the runs of the JSON array @Seqs are asked to end, and were not replayed since.
EXEC {JobRuns_Asked} @Seqs = :seqs
