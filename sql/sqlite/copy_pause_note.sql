-- copy_pause_note: note that a pause of the topic :topic of the queue :source came from the store :owner; no row: it did before.
INSERT INTO {copy_pause} (peer, queue, topic) VALUES (:owner, :source, :topic)
ON CONFLICT DO NOTHING
RETURNING 1
