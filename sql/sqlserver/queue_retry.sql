-- queue_retry: give claims back after a failed attempt, to be tried again in @Delay us.
EXEC {queue_Retry} @OwnerToken = :owner, @Claims = :claims, @Now = :now, @Delay = :delay, @Reason = :reason
