-- job_next_due: in how many us the next job is due, or null; 1: a job was last dealt with more than @Delay us in the future.
EXEC {Jobs_NextDue} @Delay = :delay, @Now = :now
