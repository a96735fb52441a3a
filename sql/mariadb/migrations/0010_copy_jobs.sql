-- 0010_copy_jobs: jobs on their way to another store, or from it.
-- Times are microseconds UTC since 1970. Each statement can be run again: DDL commits.

-- They are not scheduled meanwhile. job: the number; id: the job's. version: of the job while it is held; one that has another
-- was changed since, and is not held any more. next_due_at, fired_at: what it gets back. arrived: 1 if it came from that store,
-- 0 if it is on its way there.
CREATE TABLE IF NOT EXISTS {copy_job} (
    job BIGINT PRIMARY KEY,
    id BINARY(16) NOT NULL,
    peer BINARY(16) NOT NULL,
    version BIGINT NOT NULL,
    next_due_at BIGINT,
    fired_at BIGINT,
    arrived TINYINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
