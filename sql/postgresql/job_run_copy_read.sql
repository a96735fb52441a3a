-- queue_copy_read: all that is known of those with the numbers :seqs; when one was asked to end, unless it was replayed since.
SELECT m.seq, CAST(m.id AS text), CAST(i.status AS bigint), w.attempt, w.claim_number, w.next_attempt_at, w.expires_at, w.last_error,
       i.finished_at, i.finished_by, m.topic, m.payload, m.headers, m.correlation_id, m.ordering_key,
       m.created_at, m.due_at, m.expires_at,
       CAST(m.job_id AS text), m.job_name, m.occurrence_at, m.options, m.started_at, CASE WHEN NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = m.seq AND p.replayed_at >= m.cancel_at) THEN m.cancel_at END, m.output
FROM {copy_item} AS i JOIN {queue_work} AS w ON w.seq = i.seq JOIN {queue} AS m ON m.seq = i.seq
WHERE i.queue = CAST(:name AS text) AND i.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND i.peer = CAST(CAST(:owner AS text) AS uuid)
ORDER BY m.seq
