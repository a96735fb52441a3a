-- inbox_move: the unfinished message :number has come again, with another topic and due time; no row: it is
-- finished.
UPDATE {inbox_work} AS w
SET topic = CAST(:topic AS text), expires_at = CAST(:expires_at AS bigint),
    next_attempt_at = CASE WHEN w.attempt = 0
                             OR w.next_attempt_at = (SELECT m.due_at FROM {inbox} AS m WHERE m.seq = CAST(:number AS bigint))
                           THEN d.due_at ELSE greatest(w.next_attempt_at, d.due_at) END
FROM (SELECT coalesce(CAST(:due_at AS bigint), coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) + CAST(:delay AS bigint)) AS due_at) AS d
WHERE w.seq = CAST(:number AS bigint)
RETURNING w.seq, d.due_at
