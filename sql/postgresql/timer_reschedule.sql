-- timer_reschedule: set the next attempt of a timer that was never claimed; returns it.
UPDATE {timer_work} AS w
SET next_attempt_at = coalesce(CAST(:due_at AS bigint), coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) + CAST(:delay AS bigint))
WHERE w.seq = (SELECT m.seq FROM {timer} AS m WHERE m.id = CAST(CAST(:id AS text) AS uuid))
  AND w.status <> 1 AND w.attempt = 0
RETURNING w.seq, w.next_attempt_at
