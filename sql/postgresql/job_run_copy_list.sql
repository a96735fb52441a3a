-- queue_copy_list: what is on its way to the store :owner, or from it: its number here, id, state, size, its job's id; 1: it is held, 2: it is done or had by others; 1: it came from there.
SELECT m.seq, CAST(m.id AS text), CAST(i.status AS bigint), CAST(octet_length(m.payload) AS bigint), CAST(m.job_id AS text),
       CASE WHEN EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.seq = i.seq AND w.status = 1 AND w.owner_token = i.peer) THEN 1
            WHEN EXISTS (SELECT 1 FROM {queue_work} AS o WHERE o.seq = i.seq) OR EXISTS (SELECT 1 FROM {queue_finished} AS f WHERE f.seq = i.seq) THEN 2
            ELSE 0 END, CAST(i.arrived AS bigint)
FROM {copy_item} AS i JOIN {queue} AS m ON m.seq = i.seq
WHERE i.queue = CAST(:name AS text) AND i.peer = CAST(CAST(:owner AS text) AS uuid)
ORDER BY i.seq
