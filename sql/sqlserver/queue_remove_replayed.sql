-- queue_remove_replayed: what is known of their replays.
EXEC {queue_RemoveReplayed} @Seqs = :seqs
