-- job_next_due: in how many us the next job is due, or null; 1: a job was last dealt with more than :delay us in the future.
SELECT (SELECT MIN(j.next_due_at) FROM {job} AS j) - COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))),
       CASE WHEN EXISTS (SELECT 1 FROM {job} AS a WHERE a.fired_at > COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) + :delay) THEN 1 ELSE 0 END
