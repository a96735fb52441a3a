-- queue_read_claimed: the messages just claimed, in claim order; why the attempt before failed.
SELECT w.seq, w.attempt, w.claim_number, m.id, m.topic, m.payload, m.headers, m.correlation_id,
       m.ordering_key, m.created_at, m.due_at, m.expires_at,
       w.last_error{columns}
FROM json_each(:seqs) AS s CROSS JOIN {queue_work} AS w CROSS JOIN {queue} AS m
WHERE w.seq = s.value AND m.seq = w.seq
ORDER BY w.next_attempt_at, w.seq
