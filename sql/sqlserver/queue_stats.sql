-- queue_stats: unfinished messages by topic; of those in progress last, whose lease is over.
EXEC {queue_Stats} @Now = :now
