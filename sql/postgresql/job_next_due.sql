-- job_next_due: in how many us the next job is due, or null; 1: a job was last dealt with more than :delay us in the future.
SELECT (SELECT min(j.next_due_at) FROM {job} AS j WHERE j.next_due_at IS NOT NULL) - n.now,
       CASE WHEN EXISTS (SELECT 1 FROM {job} AS a WHERE a.fired_at > n.now + CAST(:delay AS bigint)) THEN 1 ELSE 0 END
FROM (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now) AS n
