-- copy_job_remove: it is deleted, unless it was changed since.
EXEC {CopyJob_Remove} @OwnerToken = :owner, @Number = :number
