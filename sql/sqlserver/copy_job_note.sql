-- copy_job_note: note that it goes to the store @OwnerToken, and what it gets back if it does not.
EXEC {CopyJob_Note} @OwnerToken = :owner, @Number = :number
