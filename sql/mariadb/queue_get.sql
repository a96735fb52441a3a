-- queue_get: one message with its state.
SELECT m.seq, COALESCE(f.attempt, w.attempt, 0), COALESCE(f.claim_number, w.claim_number, 0), HEX(m.id),
       m.topic, m.payload, m.headers, m.correlation_id, m.ordering_key, m.created_at, m.due_at, m.expires_at,
       COALESCE(f.status, CASE WHEN w.status = 4 AND NOT EXISTS (
                                   SELECT 1 FROM {queue_work} AS e
                                   WHERE e.ordering_key = w.ordering_key AND (e.seq < w.seq OR e.status = 1))
                               THEN 0 ELSE w.status END, 5),
       w.next_attempt_at, w.locked_until, f.finished_at, f.finished_by, COALESCE(f.last_error, w.last_error){columns}
FROM {queue} AS m
LEFT JOIN {queue_work} AS w ON w.seq = m.seq
LEFT JOIN {queue_finished} AS f ON f.seq = m.seq
WHERE m.id = UNHEX(REPLACE(:id, '-', ''))
