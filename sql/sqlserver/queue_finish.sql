-- queue_finish: end the claims that @OwnerToken holds, as done (2) or failed (3); 0.
EXEC {queue_Finish} @OwnerToken = :owner, @Claims = :claims, @Status = :status, @Now = :now, @Attempts = :attempts, @Worker = :worker, @Reason = :reason
