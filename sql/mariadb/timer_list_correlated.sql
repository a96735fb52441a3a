-- timer_list_correlated: timers with a correlation id after the one :number, in the order in which they were scheduled. Payloads only if :payloads is 1; their lengths come last.
SELECT m.seq, COALESCE(f.attempt, w.attempt), COALESCE(f.claim_number, w.claim_number), HEX(m.id), m.topic,
       CASE WHEN :payloads = 1 THEN m.payload END, m.headers, m.correlation_id, m.ordering_key, m.created_at, m.due_at, m.expires_at,
       COALESCE(f.status, CASE WHEN w.status = 4 AND NOT EXISTS (
                 SELECT 1 FROM {timer_work} AS e
                 WHERE e.ordering_key = w.ordering_key AND (e.seq < w.seq OR e.status = 1))
            THEN 0 ELSE w.status END),
       w.next_attempt_at, w.locked_until, f.finished_at, f.finished_by, COALESCE(f.last_error, w.last_error), CAST(OCTET_LENGTH(m.payload) AS SIGNED)
FROM {timer} AS m
LEFT JOIN {timer_work} AS w ON w.seq = m.seq
LEFT JOIN {timer_finished} AS f ON f.seq = m.seq
WHERE m.correlation_id = :correlation_id AND m.seq > :number
ORDER BY m.seq
LIMIT :batch
