-- job_due: jobs that are due, the longest first, behind the one of :since and :number.
SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) AS now, j.seq, HEX(j.id), j.name, j.expression, j.zone, j.options, j.version, j.next_due_at
FROM {job} AS j FORCE INDEX (due)
WHERE j.next_due_at >= :since AND j.next_due_at <= COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) AND (j.next_due_at > :since OR j.seq > :number)
ORDER BY j.next_due_at, j.seq
LIMIT :batch
