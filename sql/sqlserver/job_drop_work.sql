-- job_drop_work: forget pending runs of the job @Name. The job is held, lest it is given others meanwhile.
EXEC {Jobs_DropWork} @Name = :name
