-- inbox_find: the id, number and state of a message.
SELECT CAST(i.id AS text), i.seq, {inbox_state}(i.seq) FROM {inbox} AS i
WHERE i.source = CAST(:source AS text) AND i.message_id = CAST(:message_id AS text) AND i.consumer = CAST(:consumer AS text)
