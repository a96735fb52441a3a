-- copy_job_lock: the job @Number, if it is still the one @Id, and not on its way.
EXEC {CopyJob_Lock} @Number = :number, @Id = :id
