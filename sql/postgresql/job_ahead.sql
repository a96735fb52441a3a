-- job_ahead: jobs that were last dealt with more than :delay us in the future, when the clock was ahead.
SELECT n.now, j.seq, CAST(j.id AS text), j.name, j.expression, j.zone, j.options, j.version, j.next_due_at
FROM (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now) AS n JOIN {job} AS j ON j.fired_at > n.now + CAST(:delay AS bigint)
ORDER BY j.fired_at
LIMIT CAST(:batch AS bigint)
