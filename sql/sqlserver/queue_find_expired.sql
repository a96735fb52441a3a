-- queue_find_expired: claims whose lease is over, longest first; 1: their message has expired, too. They are held until this transaction ends.
EXEC {queue_FindExpired} @Now = :now, @Since = :since, @BatchSize = :batch
