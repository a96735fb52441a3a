-- copy_join_read_next: what is enqueued when those are over.
SELECT n.status, HEX(n.id), HEX(c.id), n.status, n.topic, n.payload, n.headers, n.correlation_id, n.ordering_key
FROM {copy_join} AS c JOIN {join_next} AS n ON n.join_seq = c.seq
WHERE c.peer = UNHEX(REPLACE(:owner, '-', '')) AND c.arrived = 0
ORDER BY n.join_seq, n.status
