-- copy_pause_note: note that a pause of the topic :topic of the queue :source came from the store :owner; no row: it did before.
INSERT IGNORE INTO {copy_pause} (peer, queue, topic) VALUES (UNHEX(REPLACE(:owner, '-', '')), :source, :topic)
RETURNING 1
