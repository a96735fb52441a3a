-- queue_copy_forget: those of :seqs are not on their way any more.
DELETE i
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {copy_item} AS i FORCE INDEX (PRIMARY) ON i.queue = :name AND i.seq = s.seq
WHERE i.peer = UNHEX(REPLACE(:owner, '-', ''))
