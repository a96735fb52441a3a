-- timer_list: unfinished timers after the one :number, in the order in which they were scheduled.
SELECT m.seq, w.attempt, w.claim_number, m.id, m.topic, m.payload, m.headers, m.correlation_id,
       m.ordering_key, m.created_at, m.due_at, m.expires_at, w.status, w.next_attempt_at, w.locked_until,
       NULL, NULL, w.last_error
FROM {timer_work} AS w CROSS JOIN {timer} AS m
WHERE w.seq > :number AND m.seq = w.seq
ORDER BY w.seq
LIMIT :batch
