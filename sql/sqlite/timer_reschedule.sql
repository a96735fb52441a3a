-- timer_reschedule: set the next attempt of a timer that was never claimed; returns it.
UPDATE {timer_work}
SET next_attempt_at = coalesce(:due_at, :now + :delay), at_once = coalesce(:due_at, :now + :delay) <= :now
WHERE seq = (SELECT m.seq FROM {timer} AS m WHERE m.id = :id) AND status <> 1 AND attempt = 0
RETURNING +seq, +next_attempt_at
