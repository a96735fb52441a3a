-- pause_add: pause the topic :topic of the queue :source; no row: it was.
INSERT INTO {paused_topic} (queue, topic, paused_at, paused_by)
VALUES (CAST(:source AS text), CAST(:topic AS text), coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)), CAST(:worker AS text))
ON CONFLICT DO NOTHING
RETURNING 1
