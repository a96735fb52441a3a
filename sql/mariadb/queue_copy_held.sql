-- queue_copy_held: those of :seqs that are held for the store :owner; nobody else can change that now. Of the inbox: when they were last seen.
SELECT w.seq, 0
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {copy_item} AS i FORCE INDEX (PRIMARY) ON i.queue = :name AND i.seq = s.seq
STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
WHERE i.peer = UNHEX(REPLACE(:owner, '-', '')) AND w.status = 1 AND w.owner_token = i.peer
FOR UPDATE
