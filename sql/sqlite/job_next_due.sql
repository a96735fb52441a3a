-- job_next_due: in how many us the next job is due, or null; 1: a job was last dealt with more than :delay us in the future.
SELECT (SELECT min(j.next_due_at) FROM {job} AS j WHERE j.next_due_at IS NOT NULL) - :now,
       EXISTS (SELECT 1 FROM {job} AS a WHERE a.fired_at > :now + :delay)
