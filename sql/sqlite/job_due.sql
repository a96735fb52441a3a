-- job_due: jobs that are due, the longest first, behind the one of :since and :number.
SELECT :now, j.seq, j.id, j.name, j.expression, j.zone, j.options, j.version, j.next_due_at
FROM {job} AS j
WHERE j.next_due_at <= :now AND (j.next_due_at > :since OR (j.next_due_at = :since AND j.seq > :number))
ORDER BY j.next_due_at, j.seq
LIMIT :batch
