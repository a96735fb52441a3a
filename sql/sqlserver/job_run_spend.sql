-- job_run_spend: fail those of the claims [[seq, claim number or null], ...] that @OwnerToken holds whose job allows no further attempt.
EXEC {JobRuns_Spend} @OwnerToken = :owner, @Claims = :claims, @Now = :now, @Reason = :reason
