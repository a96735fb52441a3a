-- 0015_copy_jobs: jobs on their way to another store, or from it.
-- Times are microseconds UTC since 1970.

-- They are not scheduled meanwhile. job: the number; id: the job's. version: of the job while it is held; one that has another
-- was changed since, and is not held any more. next_due_at, fired_at: what it gets back. arrived: 1 if it came from that store,
-- 0 if it is on its way there.
CREATE TABLE {copy_job} (
    job bigint PRIMARY KEY,
    id uuid NOT NULL,
    peer uuid NOT NULL,
    version bigint NOT NULL,
    next_due_at bigint,
    fired_at bigint,
    arrived smallint NOT NULL
);
