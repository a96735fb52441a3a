-- queue_list_unfinished: unfinished messages after the one :number, of a topic or of all, in the order in which they came. Payloads only if :payloads is 1; their lengths come last.
SELECT m.seq, w.attempt, w.claim_number, CAST(m.id AS text), m.topic, CASE WHEN CAST(:payloads AS bigint) = 1 THEN m.payload END, m.headers, m.correlation_id,
       m.ordering_key, m.created_at, m.due_at, m.expires_at,
       CASE WHEN w.status = 0 AND w.ordering_key IS NOT NULL AND EXISTS (
                 SELECT 1 FROM {queue_work} AS e
                 WHERE e.ordering_key = w.ordering_key AND (e.seq < w.seq OR e.status = 1))
            THEN 4 ELSE w.status END,
       w.next_attempt_at, w.locked_until, CAST(NULL AS bigint), CAST(NULL AS text), w.last_error{columns}, CAST(octet_length(m.payload) AS bigint)
FROM {queue_work} AS w JOIN {queue} AS m ON m.seq = w.seq
WHERE w.seq > CAST(:number AS bigint)
  AND (CAST(:topic AS text) IS NULL OR m.topic = CAST(:topic AS text))
ORDER BY w.seq
LIMIT CAST(:batch AS bigint)
