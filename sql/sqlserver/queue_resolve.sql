-- queue_resolve: the sequence numbers of the ids of the JSON array @Ids, with their places in it; whether they have ordering keys.
EXEC {queue_Resolve} @Ids = :ids
