-- queue_copy_note_dead: note the dead letters :seqs, with what a work row does not hold.
INSERT INTO {copy_item} (queue, seq, peer, status, finished_at, finished_by)
SELECT :name, f.seq, UNHEX(REPLACE(:owner, '-', '')), 3, f.finished_at, f.finished_by
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {queue_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = s.seq
WHERE f.status = 3
