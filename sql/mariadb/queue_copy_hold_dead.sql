-- queue_copy_hold_dead: hold the dead letters :seqs for the store :owner, as if they were work.
INSERT INTO {queue_work} (seq, topic, status, next_attempt_at, attempt, claim_number, owner_token, locked_until, last_error)
SELECT m.seq, COALESCE(m.topic, ''), 1, f.finished_at, f.attempt, f.claim_number, i.peer, :until, f.last_error
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {copy_item} AS i FORCE INDEX (PRIMARY) ON i.queue = :name AND i.seq = s.seq
STRAIGHT_JOIN {queue_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = s.seq
STRAIGHT_JOIN {queue} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
WHERE i.peer = UNHEX(REPLACE(:owner, '-', '')) AND i.status = 3 AND f.status = 3
