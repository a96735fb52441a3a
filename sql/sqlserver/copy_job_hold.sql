-- copy_job_hold: it is not scheduled.
EXEC {CopyJob_Hold} @Number = :number
