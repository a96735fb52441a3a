-- timer_list_correlated: timers with a correlation id after the one :number, in the order in which they were scheduled. Payloads only if :payloads is 1; their lengths come last.
SELECT m.seq, coalesce(f.attempt, w.attempt), coalesce(f.claim_number, w.claim_number), m.id, m.topic,
       CASE WHEN :payloads = 1 THEN m.payload END, m.headers, m.correlation_id, m.ordering_key, m.created_at, m.due_at, m.expires_at,
       coalesce(f.status, w.status), w.next_attempt_at, w.locked_until, f.finished_at, f.finished_by,
       coalesce(f.last_error, w.last_error), length(CAST(m.payload AS BLOB))
FROM {timer} AS m
LEFT JOIN {timer_work} AS w ON w.seq = m.seq
LEFT JOIN {timer_finished} AS f ON f.seq = m.seq
WHERE m.correlation_id = :correlation_id AND m.seq > :number
ORDER BY m.seq
LIMIT :batch
