-- queue_copy_take: hold the messages :seqs for the store :owner, those that nobody holds.
UPDATE JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
SET w.status = 1, w.owner_token = UNHEX(REPLACE(:owner, '-', '')), w.locked_until = :until
WHERE w.status <> 1
