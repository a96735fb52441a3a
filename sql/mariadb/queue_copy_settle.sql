-- queue_copy_settle: those of :seqs are done here, and known as such.
INSERT INTO {queue_finished} (seq, status, attempt, claim_number, finished_at, finished_by)
SELECT w.seq, 2, w.attempt, w.claim_number,
       COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))), :worker
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {copy_item} AS i FORCE INDEX (PRIMARY) ON i.queue = :name AND i.seq = s.seq
STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
WHERE i.peer = UNHEX(REPLACE(:owner, '-', ''))
