-- queue_get: one message with its state.
SELECT m.seq, coalesce(f.attempt, w.attempt, 0), coalesce(f.claim_number, w.claim_number, 0), m.id,
       m.topic, m.payload, m.headers, m.correlation_id, m.ordering_key, m.created_at, m.due_at, m.expires_at,
       coalesce(f.status, w.status, 5), w.next_attempt_at, w.locked_until, f.finished_at, f.finished_by,
       coalesce(f.last_error, w.last_error){columns}
FROM {queue} AS m
LEFT JOIN {queue_work} AS w ON w.seq = m.seq
LEFT JOIN {queue_finished} AS f ON f.seq = m.seq
WHERE m.id = :id
