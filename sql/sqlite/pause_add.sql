-- pause_add: pause the topic :topic of the queue :source; no row: it was.
INSERT INTO {paused_topic} (queue, topic, paused_at, paused_by) VALUES (:source, :topic, :now, :worker)
ON CONFLICT DO NOTHING
RETURNING 1
