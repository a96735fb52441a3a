-- job_next_due: in how many us the next job is due, or null.
SELECT min(j.next_due_at) - :now FROM {job} AS j WHERE j.next_due_at IS NOT NULL
