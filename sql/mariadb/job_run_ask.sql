-- job_run_ask: ask whoever runs it, or will, to end a run.
CALL {job_run_ask}(:id, :now)
