-- queue_copy_remove: their messages go, too.
DELETE m
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {copy_item} AS i FORCE INDEX (PRIMARY) ON i.queue = :name AND i.seq = s.seq
STRAIGHT_JOIN {queue} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
WHERE i.peer = UNHEX(REPLACE(:owner, '-', ''))
