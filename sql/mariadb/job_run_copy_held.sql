-- queue_copy_held: those of :seqs that are held for the store :owner, and when they were asked to end, or 0; nobody else can change that now.
SELECT w.seq, coalesce(CASE WHEN NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = m.seq AND p.replayed_at >= m.cancel_at) THEN m.cancel_at END, 0)
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {copy_item} AS i FORCE INDEX (PRIMARY) ON i.queue = :name AND i.seq = s.seq
STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
STRAIGHT_JOIN {queue} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
WHERE i.peer = UNHEX(REPLACE(:owner, '-', '')) AND w.status = 1 AND w.owner_token = i.peer
FOR UPDATE
