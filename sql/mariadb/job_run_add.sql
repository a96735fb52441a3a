-- job_run_add: a run of the job :number for the occurrence :occurrence (null: now, by hand), unless it has one. status 1: skipped; 2: skipped if another one with its ordering key is unfinished; 3: or if :batch are.
CALL {job_run_add}(:id, :number, :ordering_key, :occurrence, :status, :batch, :reason, :now)
