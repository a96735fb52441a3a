-- queue_copy_exhume: they are not among those that are finished.
DELETE f
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {copy_item} AS i FORCE INDEX (PRIMARY) ON i.queue = :name AND i.seq = s.seq
STRAIGHT_JOIN {queue_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = s.seq
WHERE i.peer = UNHEX(REPLACE(:owner, '-', '')) AND f.status = 3
