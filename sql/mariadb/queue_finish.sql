-- queue_finish: end the claims [[seq, claim number or null], ...] that :owner holds, as done or failed; 0.
CALL {queue_finish}(:claims, :owner, :now, :status, :attempts, :worker, :reason)
