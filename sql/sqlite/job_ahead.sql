-- job_ahead: jobs that were last dealt with more than :delay us in the future, when the clock was ahead.
SELECT :now, j.seq, j.id, j.name, j.expression, j.zone, j.options, j.version, j.next_due_at
FROM {job} AS j
WHERE j.fired_at > :now + :delay
ORDER BY j.fired_at
LIMIT :batch
