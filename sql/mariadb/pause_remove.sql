-- pause_remove: let the topic :topic of the queue :source go on; no row: it was not paused.
DELETE FROM {paused_topic} WHERE queue = :source AND topic = :topic RETURNING 1
