-- copy_job_arrive: note that it came from the store @OwnerToken, and when it is due once it is let go.
EXEC {CopyJob_Arrive} @OwnerToken = :owner, @Number = :number, @DueAt = :due_at
