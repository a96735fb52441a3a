-- queue_list_unfinished: unfinished messages after the one :number, of a topic or of all, in the order in which they came. Payloads only if :payloads is 1; their lengths come last.
SELECT m.seq, w.attempt, w.claim_number, HEX(m.id), m.topic, CASE WHEN :payloads = 1 THEN m.payload END, m.headers, m.correlation_id,
       m.ordering_key, m.created_at, m.due_at, m.expires_at,
       CASE WHEN w.status = 4 AND NOT EXISTS (
                 SELECT 1 FROM {queue_work} AS e
                 WHERE e.ordering_key = w.ordering_key AND (e.seq < w.seq OR e.status = 1))
            THEN 0 ELSE w.status END,
       w.next_attempt_at, w.locked_until, NULL, NULL, w.last_error{columns}, CAST(OCTET_LENGTH(m.payload) AS SIGNED)
FROM {queue_work} AS w JOIN {queue} AS m ON m.seq = w.seq
WHERE w.seq > :number
  AND (:topic IS NULL OR m.topic = :topic)
ORDER BY w.seq
LIMIT :batch
