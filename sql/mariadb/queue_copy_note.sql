-- queue_copy_note: note those that are held so.
INSERT INTO {copy_item} (queue, seq, peer, status)
SELECT :name, w.seq, w.owner_token, 0
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
WHERE w.status = 1 AND w.owner_token = UNHEX(REPLACE(:owner, '-', ''))
