-- queue_find_dead: when they died, and their numbers, to change them in this transaction. Those that another
-- transaction changes are left out; the inbox's are changed by whoever holds the message's row.
SELECT f.finished_at, f.seq
FROM {queue_finished} AS f JOIN {queue} AS m ON m.seq = f.seq
WHERE f.status = 3 AND (f.finished_at, f.seq) > (CAST(:since AS bigint), CAST(:number AS bigint))
  AND f.finished_at <= CAST(:until AS bigint)
  AND (CAST(:topic AS text) IS NULL OR m.topic = CAST(:topic AS text))
  AND (CAST(:reason AS text) IS NULL OR position(CAST(:reason AS text) IN f.last_error) > 0)
  AND (CAST(:ids AS text) IS NULL
       OR replace(CAST(m.id AS text), '-', '') IN (SELECT i.id FROM json_array_elements_text(CAST(CAST(:ids AS text) AS json)) AS i (id)))
ORDER BY f.finished_at, f.seq
LIMIT CAST(:batch AS bigint)
FOR UPDATE OF f, m SKIP LOCKED
