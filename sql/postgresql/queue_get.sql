-- queue_get: one message with its state.
SELECT m.seq, coalesce(f.attempt, w.attempt, 0), coalesce(f.claim_number, w.claim_number, 0), CAST(m.id AS text),
       m.topic, m.payload, m.headers, m.correlation_id, m.ordering_key, m.created_at, m.due_at, m.expires_at,
       coalesce(f.status, CASE WHEN w.status = 0 AND w.ordering_key IS NOT NULL AND EXISTS (
                                   SELECT 1 FROM {queue_work} AS e
                                   WHERE e.ordering_key = w.ordering_key AND (e.seq < w.seq OR e.status = 1))
                               THEN 4 ELSE w.status END, 5),
       w.next_attempt_at, w.locked_until, f.finished_at, f.finished_by, coalesce(f.last_error, w.last_error){columns}
FROM {queue} AS m
LEFT JOIN {queue_work} AS w ON w.seq = m.seq
LEFT JOIN {queue_finished} AS f ON f.seq = m.seq
WHERE m.id = CAST(CAST(:id AS text) AS uuid)
