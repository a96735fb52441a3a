-- queue_copy_list: what is on its way to the store :owner, or from it: its number here, id, state, size, its job's id; 1: it is held, 2: it is done or had by others; 1: it came from there.
SELECT m.seq, HEX(m.id), i.status, OCTET_LENGTH(m.payload), HEX(m.job_id),
       CASE WHEN EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.seq = i.seq AND w.status = 1 AND w.owner_token = i.peer) THEN 1
            WHEN EXISTS (SELECT 1 FROM {queue_work} AS o WHERE o.seq = i.seq) OR EXISTS (SELECT 1 FROM {queue_finished} AS f WHERE f.seq = i.seq) THEN 2
            ELSE 0 END, i.arrived
FROM {copy_item} AS i STRAIGHT_JOIN {queue} AS m FORCE INDEX (PRIMARY) ON m.seq = i.seq
WHERE i.queue = :name AND i.peer = UNHEX(REPLACE(:owner, '-', ''))
ORDER BY i.seq
