-- queue_expire: fail waiting messages that are past their expiry.
CALL {queue_expire}(:now, :since, :batch, :worker, :reason)
