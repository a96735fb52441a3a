-- inbox_remove_finished: the messages of the JSON array :seqs go, unless they are unfinished or, if they are done, have arrived since; which do. Whoever is storing one keeps it; who comes later waits.
CALL {inbox_remove_finished}(:seqs, :status, :now, :delay)
