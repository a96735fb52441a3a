-- inbox_remove_finished: the messages of the JSON array @Seqs go, unless they are unfinished or, if they are done, have arrived since; which did. Whoever is storing one keeps it; who comes later waits.
EXEC {inbox_RemoveFinished} @Seqs = :seqs, @Status = :status, @Delay = :delay, @Now = :now
