-- queue_list_dead: up to :batch dead letters after (:since, :number), those that died first first. Payloads only if :payloads is 1; their lengths come last.
SELECT m.seq, f.attempt, f.claim_number, m.id,
       m.topic, CASE WHEN :payloads = 1 THEN m.payload END, m.headers, m.correlation_id, m.ordering_key, m.created_at, m.due_at, m.expires_at,
       f.status, NULL, NULL, f.finished_at, f.finished_by,
       f.last_error{columns}, length(CAST(m.payload AS BLOB))
FROM {queue_finished} AS f CROSS JOIN {queue} AS m
WHERE f.status = 3 AND (f.finished_at, f.seq) > (:since, :number) AND f.finished_at <= :until
  AND m.seq = f.seq
  AND (:topic IS NULL OR m.topic = :topic)
  AND (:reason IS NULL OR instr(f.last_error, :reason) > 0)
  AND (:ids IS NULL OR lower(hex(m.id)) IN (SELECT i.value FROM json_each(:ids) AS i))
ORDER BY f.finished_at, f.seq
LIMIT :batch
