-- queue_replay_end: those are not dead any more.
CALL {queue_replay_end}(:seqs)
