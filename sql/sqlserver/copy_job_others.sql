-- copy_job_others: one of its unfinished runs that the store @OwnerToken does not hold, if there is one. It waits for who is just giving it one.
EXEC {CopyJob_Others} @OwnerToken = :owner, @Number = :number
