-- job_run_find_expired: claims whose lease is over, longest first; 1: their message has expired, too; their jobs' options; 1: whoever had them was asked to end them. They are held until this transaction ends.
EXEC {JobRuns_FindExpired} @Now = :now, @Since = :since, @BatchSize = :batch
