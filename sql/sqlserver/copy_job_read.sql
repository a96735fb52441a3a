-- copy_job_read: all that is known of the job @Number, on its way to the store @OwnerToken or from it.
EXEC {CopyJob_Read} @OwnerToken = :owner, @Number = :number
