-- queue_find_dead: when they died, and their numbers, to change them in this transaction.
SELECT +f.finished_at, +f.seq
FROM {queue_finished} AS f CROSS JOIN {queue} AS m
WHERE f.status = 3 AND (f.finished_at, f.seq) > (:since, :number) AND f.finished_at <= :until
  AND m.seq = f.seq
  AND (:topic IS NULL OR m.topic = :topic)
  AND (:reason IS NULL OR instr(f.last_error, :reason) > 0)
  AND (:ids IS NULL OR lower(hex(m.id)) IN (SELECT i.value FROM json_each(:ids) AS i))
ORDER BY f.finished_at, f.seq
LIMIT :batch
