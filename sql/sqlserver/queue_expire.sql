-- queue_expire: fail waiting messages that are past their expiry.
EXEC {queue_Expire} @Now = :now, @Since = :since, @BatchSize = :batch, @Worker = :worker, @Reason = :reason
