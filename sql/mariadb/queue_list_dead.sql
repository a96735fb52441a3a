-- queue_list_dead: up to :batch dead letters after (:since, :number), those that died first first. Payloads only if :payloads is 1; their lengths come last.
SELECT m.seq, f.attempt, f.claim_number, HEX(m.id),
       m.topic, CASE WHEN :payloads = 1 THEN m.payload END, m.headers, m.correlation_id, m.ordering_key, m.created_at, m.due_at, m.expires_at,
       f.status, NULL, NULL, f.finished_at, f.finished_by, f.last_error{columns}, CAST(OCTET_LENGTH(m.payload) AS SIGNED)
FROM {queue_finished} AS f FORCE INDEX (failed) STRAIGHT_JOIN {queue} AS m FORCE INDEX (PRIMARY) ON m.seq = f.seq
WHERE f.status = 3 AND f.finished_at >= :since AND (f.finished_at, f.seq) > (:since, :number) AND f.finished_at <= :until
  AND (:topic IS NULL OR m.topic = :topic)
  AND (:reason IS NULL OR INSTR(f.last_error, BINARY :reason) > 0)
  AND (:ids IS NULL OR LOWER(HEX(m.id)) IN (SELECT i.id FROM JSON_TABLE(:ids, '$[*]' COLUMNS (id VARCHAR(32) PATH '$')) AS i))
ORDER BY f.finished_at, f.seq
LIMIT :batch
