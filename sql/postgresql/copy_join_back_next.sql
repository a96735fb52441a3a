-- copy_join_back_next: likewise of those that came.
SELECT CAST(n.status AS bigint), CAST(n.next_id AS text), CAST(c.id AS text), CAST(n.status AS bigint), n.topic, n.payload, n.headers, n.correlation_id, n.ordering_key
FROM {copy_join} AS c JOIN {copy_join_next} AS n ON n.id = c.id
WHERE c.peer = CAST(CAST(:owner AS text) AS uuid) AND c.arrived = 1
ORDER BY c.id, n.status
