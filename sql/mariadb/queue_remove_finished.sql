-- queue_remove_finished: the messages of the JSON array :seqs go, unless they are unfinished; which do.
CALL {queue_remove_finished}(:seqs, :status)
