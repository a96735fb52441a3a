-- job_run_limit: the attempts that the claimed run @Number may take, for whoever reaps it.
EXEC {JobRuns_Limit} @Number = :number, @MaxAttempts = :max_attempts
