-- queue_release: give claims back that were never started, as they were.
EXEC {queue_Release} @OwnerToken = :owner, @Claims = :claims
