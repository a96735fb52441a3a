-- queue_tell_dead: what is to be told of the dead letters of the JSON array @Seqs.
EXEC {queue_TellDead} @Seqs = :seqs
