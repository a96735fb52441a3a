-- queue_copy_read: all that is known of those with the numbers :seqs; when one was asked to end, unless it was replayed since.
SELECT m.seq, m.id, i.status, w.attempt, w.claim_number, w.next_attempt_at, w.expires_at, w.last_error,
       i.finished_at, i.finished_by, m.topic, m.payload, m.headers, m.correlation_id, m.ordering_key,
       m.created_at, m.due_at, m.expires_at,
       m.job_id, m.job_name, m.occurrence_at, m.options, m.started_at, CASE WHEN NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = m.seq AND p.replayed_at >= m.cancel_at) THEN m.cancel_at END, m.output
FROM json_each(:seqs) AS s CROSS JOIN {copy_item} AS i CROSS JOIN {queue_work} AS w CROSS JOIN {queue} AS m
WHERE i.queue = :name AND i.seq = s.value AND i.peer = :owner AND w.seq = s.value AND m.seq = s.value
ORDER BY m.seq
