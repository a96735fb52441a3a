-- pause_add: pause the topic @Topic of the queue @Queue; no row: it was.
EXEC {PausedTopic_Add} @Queue = :source, @Topic = :topic, @PausedBy = :worker, @Now = :now
