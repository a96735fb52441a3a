-- copy_join_back_next: likewise of those that came.
SELECT n.status, HEX(n.next_id), HEX(c.id), n.status, n.topic, n.payload, n.headers, n.correlation_id, n.ordering_key
FROM {copy_join} AS c JOIN {copy_join_next} AS n ON n.id = c.id
WHERE c.peer = UNHEX(REPLACE(:owner, '-', '')) AND c.arrived = 1
ORDER BY c.id, n.status
