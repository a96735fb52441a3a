-- copy_join_open_next: with what is enqueued when they are over.
INSERT INTO {join_next} (join_seq, status, id, topic, payload, headers, correlation_id, ordering_key)
SELECT j.seq, n.status, n.next_id, n.topic, n.payload, n.headers, n.correlation_id, n.ordering_key
FROM {copy_join} AS c JOIN {join} AS j ON j.id = c.id JOIN {copy_join_next} AS n ON n.id = c.id
WHERE c.peer = UNHEX(REPLACE(:owner, '-', '')) AND c.arrived = 1
