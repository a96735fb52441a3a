-- job_due: jobs that are due, the longest first, behind the one of :since and :number.
SELECT n.now, j.seq, CAST(j.id AS text), j.name, j.expression, j.zone, j.options, j.version, j.next_due_at
FROM (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now) AS n JOIN {job} AS j ON j.next_due_at <= n.now
WHERE (j.next_due_at, j.seq) > (CAST(:since AS bigint), CAST(:number AS bigint))
ORDER BY j.next_due_at, j.seq
LIMIT CAST(:batch AS bigint)
