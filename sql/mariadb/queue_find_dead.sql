-- queue_find_dead: when they died, and their numbers, to change them in this transaction. Those that another transaction changes are left out.
SELECT f.finished_at, f.seq
FROM {queue_finished} AS f FORCE INDEX (failed) STRAIGHT_JOIN {queue} AS m FORCE INDEX (PRIMARY) ON m.seq = f.seq
WHERE f.status = 3 AND f.finished_at >= :since AND (f.finished_at, f.seq) > (:since, :number) AND f.finished_at <= :until
  AND (:topic IS NULL OR m.topic = :topic)
  AND (:reason IS NULL OR INSTR(f.last_error, BINARY :reason) > 0)
  AND (:ids IS NULL OR LOWER(HEX(m.id)) IN (SELECT i.id FROM JSON_TABLE(:ids, '$[*]' COLUMNS (id VARCHAR(32) PATH '$')) AS i))
ORDER BY f.finished_at, f.seq
LIMIT :batch
FOR UPDATE SKIP LOCKED
