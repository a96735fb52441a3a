-- job_ahead: jobs that were last dealt with more than :delay us in the future, when the clock was ahead.
SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) AS now, j.seq, HEX(j.id), j.name, j.expression, j.zone, j.options, j.version, j.next_due_at
FROM {job} AS j
WHERE j.fired_at > COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) + :delay
ORDER BY j.fired_at
LIMIT :batch
