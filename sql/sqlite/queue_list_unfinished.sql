-- queue_list_unfinished: unfinished messages after the one :number, of a topic or of all, in the order in which they came. Payloads only if :payloads is 1; their lengths come last.
SELECT m.seq, w.attempt, w.claim_number, m.id, m.topic, CASE WHEN :payloads = 1 THEN m.payload END, m.headers, m.correlation_id,
       m.ordering_key, m.created_at, m.due_at, m.expires_at, w.status, w.next_attempt_at, w.locked_until,
       NULL, NULL, w.last_error{columns}, length(CAST(m.payload AS BLOB))
FROM {queue_work} AS w CROSS JOIN {queue} AS m
WHERE w.seq > :number AND m.seq = w.seq
  AND (:topic IS NULL OR m.topic = :topic)
ORDER BY w.seq
LIMIT :batch
