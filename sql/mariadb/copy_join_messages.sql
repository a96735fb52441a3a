-- copy_join_messages: the unfinished members, not counted yet, of the open joins :seqs; their states.
SELECT DISTINCT w.seq, w.status
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {join} AS j FORCE INDEX (PRIMARY) ON j.seq = s.seq
STRAIGHT_JOIN {join_member} AS k FORCE INDEX (PRIMARY) ON k.join_seq = j.seq
STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = k.seq
WHERE j.status = 0 AND k.status = 0
