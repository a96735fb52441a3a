-- queue_copy_find: the next @BatchSize unfinished messages behind the one @Number that may be moved, with all of their ordering keys; and where the next page begins. None of a key that is held, or that an earlier page was about.
EXEC {queue_CopyFind} @Number = :number, @BatchSize = :batch
