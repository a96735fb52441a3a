-- inbox_copy_memory: the next :batch messages behind the one :number that were done, at :since or later, as queue_copy_read gives others; without topic, payload and headers.
SELECT m.seq, CAST(m.id AS text), CAST(2 AS bigint), f.attempt, f.claim_number, f.finished_at, CAST(NULL AS bigint), f.last_error,
       f.finished_at, f.finished_by, CAST(NULL AS text), CAST(NULL AS text), CAST(NULL AS text), m.correlation_id, m.ordering_key,
       m.created_at, m.due_at, m.expires_at, m.source, m.message_id, m.consumer, m.hash, m.hash_algorithm, m.last_seen_at
FROM {inbox_finished} AS f JOIN {inbox} AS m ON m.seq = f.seq
WHERE f.seq > CAST(:number AS bigint) AND f.status = 2 AND f.finished_at >= CAST(:since AS bigint)
ORDER BY f.seq
LIMIT CAST(:batch AS bigint)
