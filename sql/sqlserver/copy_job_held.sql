-- copy_job_held: the job @Number, if it is held for the store @OwnerToken, and was not changed since. It is given no run meanwhile: see JobRuns_Add.
EXEC {CopyJob_Held} @OwnerToken = :owner, @Number = :number
