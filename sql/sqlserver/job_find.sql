-- job_find: the time, and the job @Name if there is one; whether a run of it is unfinished.
EXEC {Jobs_Find} @Name = :name, @Now = :now
