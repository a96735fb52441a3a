-- pause_remove: let the topic :topic of the queue :source go on; no row: it was not paused.
DELETE FROM {paused_topic} WHERE queue = CAST(:source AS text) AND topic = CAST(:topic AS text) RETURNING 1
