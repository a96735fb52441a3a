-- copy_job_find: the next job behind the one @Number that is not on its way; 1: a run of it is running.
EXEC {CopyJob_Find} @Number = :number
