-- copy_join_read_next: what is enqueued when those are over.
SELECT CAST(n.status AS bigint), CAST(n.id AS text), CAST(c.id AS text), CAST(n.status AS bigint), n.topic, n.payload, n.headers, n.correlation_id, n.ordering_key
FROM {copy_join} AS c JOIN {join_next} AS n ON n.join_seq = c.seq
WHERE c.peer = CAST(CAST(:owner AS text) AS uuid) AND c.arrived = 0
ORDER BY n.join_seq, n.status
