-- job_find: the time, and the job @Name if there is one; whether a run of it is unfinished. When one is due that is on its way to another store, or from it, is what it gets back.
EXEC {Jobs_Find} @Name = :name, @Now = :now
