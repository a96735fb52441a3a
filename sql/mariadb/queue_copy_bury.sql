-- queue_copy_bury: the dead ones of :seqs are dead letters again. Who has just made one a member of a join is waited for.
INSERT INTO {queue_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT w.seq, 3, w.attempt, w.claim_number, i.finished_at, i.finished_by, w.last_error
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {copy_item} AS i FORCE INDEX (PRIMARY) ON i.queue = :name AND i.seq = s.seq
STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
WHERE i.peer = UNHEX(REPLACE(:owner, '-', '')) AND i.status = 3 AND w.owner_token = i.peer
FOR UPDATE
