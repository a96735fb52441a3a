-- timer_list_correlated: timers with a correlation id after the one :number, in the order in which they were scheduled. Payloads only if :payloads is 1; their lengths come last.
SELECT m.seq, coalesce(f.attempt, w.attempt), coalesce(f.claim_number, w.claim_number), CAST(m.id AS text), m.topic,
       CASE WHEN CAST(:payloads AS bigint) = 1 THEN m.payload END, m.headers, m.correlation_id, m.ordering_key, m.created_at, m.due_at, m.expires_at,
       coalesce(f.status, CASE WHEN w.status = 0 AND w.ordering_key IS NOT NULL AND EXISTS (
                 SELECT 1 FROM {timer_work} AS e
                 WHERE e.ordering_key = w.ordering_key AND (e.seq < w.seq OR e.status = 1))
            THEN 4 ELSE w.status END),
       w.next_attempt_at, w.locked_until, f.finished_at, f.finished_by, coalesce(f.last_error, w.last_error), CAST(octet_length(m.payload) AS bigint)
FROM {timer} AS m
LEFT JOIN {timer_work} AS w ON w.seq = m.seq
LEFT JOIN {timer_finished} AS f ON f.seq = m.seq
WHERE m.correlation_id = CAST(:correlation_id AS text) AND m.seq > CAST(:number AS bigint)
ORDER BY m.seq
LIMIT CAST(:batch AS bigint)
