-- copy_job_free: it is scheduled again as it was, unless it was changed since.
EXEC {CopyJob_Free} @OwnerToken = :owner, @Number = :number
