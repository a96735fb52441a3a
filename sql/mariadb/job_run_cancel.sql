-- job_run_cancel: end a run that nobody has, as cancelled.
CALL {job_run_cancel}(:id, :now, :reason)
