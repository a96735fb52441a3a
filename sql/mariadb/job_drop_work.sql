-- job_drop_work: take pending runs of the job :name out of the queue, and forget them. The job is held, lest it is given others meanwhile.
CALL {job_drop_work}(:name)
