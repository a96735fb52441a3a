-- queue_copy_held: those of :seqs that are held for the store :owner; nobody else can change that now. Of the inbox: when they were last seen. The message first, as all who change it lock it.
SELECT w.seq, m.last_seen_at
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {copy_item} AS i FORCE INDEX (PRIMARY) ON i.queue = :name AND i.seq = s.seq
STRAIGHT_JOIN {queue} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
WHERE i.peer = UNHEX(REPLACE(:owner, '-', '')) AND w.status = 1 AND w.owner_token = i.peer
FOR UPDATE
