-- inbox_move: the unfinished message :number has come again, with another topic and due time; no row: it is finished.
UPDATE {inbox_work}
SET topic = :topic, expires_at = :expires_at,
    at_once = attempt = 0 AND coalesce(:due_at, :now + :delay) <= :now,
    next_attempt_at = CASE WHEN attempt = 0
                             OR next_attempt_at = (SELECT m.due_at FROM {inbox} AS m WHERE m.seq = :number)
                           THEN coalesce(:due_at, :now + :delay)
                           ELSE max(next_attempt_at, coalesce(:due_at, :now + :delay)) END
WHERE seq = :number
RETURNING +seq, coalesce(:due_at, :now + :delay)
