-- queue_find_dead: when they died, and their numbers, to change them in this transaction. Those that another transaction changes are left out.
EXEC {queue_FindDead} @Since = :since, @Number = :number, @Until = :until, @BatchSize = :batch, @Topic = :topic, @Reason = :reason, @Ids = :ids
