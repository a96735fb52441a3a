-- copy_job_list: the jobs on their way to the store @OwnerToken, or from it: number, id, name; 1: it is held, 2: it was changed since, 0: it was deleted; 1: it came from there.
EXEC {CopyJob_List} @OwnerToken = :owner
