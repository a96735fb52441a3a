-- copy_join_keys: the unfinished messages with the ordering keys of the messages :seqs; their states.
SELECT DISTINCT w.seq, w.status
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {outbox} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (keyed) ON w.ordering_key = m.ordering_key
