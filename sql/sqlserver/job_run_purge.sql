-- job_run_purge: forget runs that were finished @Delay us ago or earlier; which were.
EXEC {JobRuns_Purge} @Delay = :delay, @BatchSize = :batch, @Now = :now
