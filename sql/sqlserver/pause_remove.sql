-- pause_remove: let the topic @Topic of the queue @Queue go on; no row: it was not paused.
EXEC {PausedTopic_Remove} @Queue = :source, @Topic = :topic
