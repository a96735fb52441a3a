-- queue_list_dead: up to :batch dead letters after (:since, :number), those that died first first. Payloads only if :payloads is 1; their lengths come last.
SELECT m.seq, f.attempt, f.claim_number, CAST(m.id AS text),
       m.topic, CASE WHEN CAST(:payloads AS bigint) = 1 THEN m.payload END, m.headers, m.correlation_id, m.ordering_key, m.created_at, m.due_at, m.expires_at,
       f.status,
       NULL, NULL, f.finished_at, f.finished_by, f.last_error{columns}, CAST(octet_length(m.payload) AS bigint)
FROM {queue_finished} AS f JOIN {queue} AS m ON m.seq = f.seq
WHERE f.status = 3 AND (f.finished_at, f.seq) > (CAST(:since AS bigint), CAST(:number AS bigint))
  AND f.finished_at <= CAST(:until AS bigint)
  AND (CAST(:topic AS text) IS NULL OR m.topic = CAST(:topic AS text))
  AND (CAST(:reason AS text) IS NULL OR position(CAST(:reason AS text) IN f.last_error) > 0)
  AND (CAST(:ids AS text) IS NULL
       OR replace(CAST(m.id AS text), '-', '') IN (SELECT i.id FROM json_array_elements_text(CAST(CAST(:ids AS text) AS json)) AS i (id)))
ORDER BY f.finished_at, f.seq
LIMIT CAST(:batch AS bigint)
