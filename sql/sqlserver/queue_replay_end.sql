-- queue_replay_end: make the dead letters of the JSON array @Seqs ready again, with no attempts, one after the other in steps of @Delay us from the @Count-th on, and note it; which were. One whose unique key is taken stays dead.
EXEC {queue_Replay} @Seqs = :seqs, @Count = :count, @Delay = :delay, @Worker = :worker, @Now = :now
