-- queue_copy_free: nobody holds the unfinished ones of :seqs any more.
UPDATE JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {copy_item} AS i FORCE INDEX (PRIMARY) ON i.queue = :name AND i.seq = s.seq
STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
SET w.status = CASE WHEN w.ordering_key IS NULL THEN 0 ELSE 4 END, w.owner_token = NULL, w.locked_until = NULL
WHERE i.peer = UNHEX(REPLACE(:owner, '-', '')) AND i.status = 0 AND w.owner_token = i.peer
