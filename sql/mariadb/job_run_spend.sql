-- job_run_spend: fail those of the claims [[seq, claim number or null], ...] that :owner holds whose job allows no further attempt.
CALL {job_run_spend}(:claims, :owner, :now, :reason)
