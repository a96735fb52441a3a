-- job_ahead: jobs that were last dealt with more than @Delay us in the future, when the clock was ahead.
EXEC {Jobs_Ahead} @Delay = :delay, @BatchSize = :batch, @Now = :now
