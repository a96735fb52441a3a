-- queue_remove_replayed: what is known of their replays.
DELETE r FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {queue_replayed} AS r FORCE INDEX (seq) ON r.seq = s.seq
