-- 0016_copy_jobs: jobs on their way to another store, or from it.

-- They are not scheduled meanwhile. job: the number; id: the job's, as a number may be given to another one. version: of the job
-- while it is held; one that has another was changed since, and is not held any more. next_due_at, fired_at: what it gets
-- back. arrived: 1 if it came from that store, 0 if it is on its way there.
CREATE TABLE {copy_job} (
    job INTEGER NOT NULL CHECK (typeof(job) = 'integer'),
    id BLOB NOT NULL CHECK (typeof(id) = 'blob' AND length(id) = 16),
    peer BLOB NOT NULL CHECK (typeof(peer) = 'blob' AND length(peer) = 16),
    version INTEGER NOT NULL CHECK (typeof(version) = 'integer'),
    next_due_at INTEGER CHECK (typeof(next_due_at) IN ('integer', 'null')),
    fired_at INTEGER CHECK (typeof(fired_at) IN ('integer', 'null')),
    arrived INTEGER NOT NULL CHECK (arrived IN (0, 1)),
    PRIMARY KEY (job, id)
);
