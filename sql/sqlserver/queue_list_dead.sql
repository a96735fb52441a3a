-- queue_list_dead: up to @BatchSize dead letters after (@Since, @Number), those that died first first. @Ids: JSON, without hyphens.
EXEC {queue_ListDead} @Since = :since, @Number = :number, @Until = :until, @BatchSize = :batch, @Topic = :topic, @Reason = :reason, @Ids = :ids, @Payloads = :payloads
