-- inbox_hold: the same, to change it in this transaction. That it is written tells a transaction that began before:
-- it must begin anew, for it would see the message as it was.
UPDATE {inbox} AS m SET last_seen_at = m.last_seen_at
WHERE m.source = CAST(:source AS text) AND m.message_id = CAST(:message_id AS text) AND m.consumer = CAST(:consumer AS text)
RETURNING CAST(m.id AS text), m.seq, {inbox_state}(m.seq)
