-- inbox_replay: make the dead letters of the JSON array :seqs ready again, with no attempts, one after the other in steps of :delay us from the :count-th on, and not before their due times. The messages are written, too: see changes.
CALL {inbox_replay}(:seqs, :now, :count, :delay)
