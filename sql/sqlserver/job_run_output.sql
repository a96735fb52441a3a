-- job_run_output: what the handler of the run @Number returned.
EXEC {JobRuns_Output} @Number = :number, @Payload = :payload
