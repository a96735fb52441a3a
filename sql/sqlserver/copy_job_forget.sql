-- copy_job_forget: it is not on its way any more.
EXEC {CopyJob_Forget} @OwnerToken = :owner, @Number = :number
