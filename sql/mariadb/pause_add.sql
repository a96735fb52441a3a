-- pause_add: pause the topic :topic of the queue :source; no row: it was.
INSERT IGNORE INTO {paused_topic} (queue, topic, paused_at, paused_by)
VALUES (:source, :topic, COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))), :worker)
RETURNING 1
