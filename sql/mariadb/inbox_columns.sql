-- inbox_columns: what a message of the inbox has besides, wherever one is read.
, m.source, m.message_id, m.consumer, m.hash, m.hash_algorithm, m.last_seen_at
