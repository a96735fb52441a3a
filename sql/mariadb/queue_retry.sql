-- queue_retry: give claims back after a failed attempt, to be tried again in :delay us.
CALL {queue_retry}(:claims, :owner, :now, :delay, :reason)
