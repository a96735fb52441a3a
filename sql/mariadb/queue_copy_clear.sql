-- queue_copy_clear: there is no work left of those of :seqs that the store :owner holds; with :status, of those in that state.
DELETE w
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {copy_item} AS i FORCE INDEX (PRIMARY) ON i.queue = :name AND i.seq = s.seq
STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
WHERE i.peer = UNHEX(REPLACE(:owner, '-', '')) AND i.status = COALESCE(:status, i.status) AND w.owner_token = i.peer
