-- job_run_purge: forget runs that were finished :delay us ago or earlier; how, not what.
CALL {job_run_purge}(:now, :delay, :batch)
