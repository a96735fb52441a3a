-- inbox_copy_memory: the next :batch messages behind the one :number that were done, at :since or later, as queue_copy_read gives others; without topic, payload and headers.
SELECT m.seq, HEX(m.id), 2, f.attempt, f.claim_number, f.finished_at, NULL, f.last_error,
       f.finished_at, f.finished_by, NULL, NULL, NULL, m.correlation_id, m.ordering_key,
       m.created_at, m.due_at, m.expires_at, m.source, m.message_id, m.consumer, m.hash, m.hash_algorithm, m.last_seen_at
FROM {inbox_finished} AS f FORCE INDEX (PRIMARY) STRAIGHT_JOIN {inbox} AS m FORCE INDEX (PRIMARY) ON m.seq = f.seq
WHERE f.seq > :number AND f.status = 2 AND f.finished_at >= :since
ORDER BY f.seq
LIMIT :batch
