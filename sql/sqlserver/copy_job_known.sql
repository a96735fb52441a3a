-- copy_job_known: whether there is a job of the name @Name, or with the id @Id.
EXEC {CopyJob_Known} @Name = :name, @Id = :id
