-- job_run_start: note that the runs of the JSON array :seqs begin; what is needed to run them. end: 1 if their job is gone, 2 if whoever had them was asked to end them.
CALL {job_run_start}(:seqs, :now)
