-- queue_release: give claims back that were never started, as they were.
CALL {queue_release}(:claims, :owner)
