-- copy_join_of: the open joins in which the messages :seqs are members that have not counted yet; 0.
SELECT DISTINCT j.seq, 0
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
STRAIGHT_JOIN JSON_TABLE(CONCAT('[', w.joins, ']'), '$[*]' COLUMNS (seq BIGINT PATH '$')) AS n
STRAIGHT_JOIN {join_member} AS k FORCE INDEX (PRIMARY) ON k.join_seq = n.seq AND k.seq = w.seq
STRAIGHT_JOIN {join} AS j FORCE INDEX (PRIMARY) ON j.seq = k.join_seq
WHERE w.joins IS NOT NULL AND k.status = 0 AND j.status = 0
