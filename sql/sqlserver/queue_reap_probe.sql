-- queue_reap_probe: whether a lease or a waiting message has expired.
EXEC {queue_ReapProbe} @Now = :now, @Since = :since
